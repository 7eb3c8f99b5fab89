"""How a recording keeps logits: all of them for a small vocabulary, else the largest with the log-sum-exp over all.

Both forms give log-probabilities of the most likely tokens exactly; what is lost of a large vocabulary is how the
rest of the probability is spread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import Array, LogitForm, Table
from eagle3_contracts.numerics import log_softmax

DENSE_VOCABULARY = 4096
"""The largest vocabulary whose logits are kept whole: a row takes 8 KiB in bfloat16, of 163,840 tokens 320 KiB."""

KEPT = 64
"""Logits that are kept of a row of a larger vocabulary: ids as int32, values and log-sum-exp as float32, 516 bytes."""

COMPARED = 10
"""The most likely tokens whose log-probabilities are compared: what a sampler can draw, not the noise of the tail."""

DENSE_PARTS, TOP_PARTS = ("logits",), ("top_ids", "top_logits", "log_sum_exp")


@dataclass(frozen=True, slots=True)
class KeptLogits:
    """The recorded logits of T rows. ``ids`` [T, K] and ``logprobs`` [T, K] of the most likely tokens, best first.

    ``logits`` [T, V]: all of them, None where only the largest were kept.
    """

    ids: npt.NDArray[np.int64]
    logprobs: Table
    logits: Array | None = None

    @property
    def form(self) -> LogitForm:
        """Tell how they are stored."""
        return "top-k" if self.logits is None else "dense"

    def distances(self, logits: Array) -> tuple[Table, Table]:
        """Hold logits [T, V] against these: per row the largest difference of log-probability, and the divergence.

        The difference is over the ``COMPARED`` most likely recorded tokens. The divergence of what others give from
        what is recorded is in nats; of kept logits the remaining probability counts as one outcome, which can only make
        it smaller. NaN is infinitely far.
        """
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            return self._distances(log_softmax(logits))

    def _distances(self, found: Table) -> tuple[Table, Table]:
        gap = np.abs(self.logprobs - np.take_along_axis(found, self.ids, -1))[:, :COMPARED].max(axis=-1)
        if self.logits is not None:
            own = log_softmax(self.logits)
        else:
            # The largest that others find must be among those that were kept, or others were kept.
            kept = (self.ids == found.argmax(axis=-1)[:, None]).any(axis=-1)
            gap = np.where(kept, gap, np.inf)
            own = _with_rest(self.logprobs)
            found = _with_rest(np.take_along_axis(found, self.ids, -1))
        divergence = np.where(np.exp(own) == 0, 0.0, np.exp(own) * (own - found)).sum(axis=-1)
        return _far(gap), _far(divergence)


def dense_logits(logits: Array) -> KeptLogits:
    """Take all logits [T, V]."""
    kept = min(KEPT, logits.shape[-1])
    with np.errstate(invalid="ignore", over="ignore"):
        own = log_softmax(logits)
    ids = np.argsort(-own, axis=-1, kind="stable")[:, :kept].astype(np.int64)
    return KeptLogits(ids, np.take_along_axis(own, ids, -1), logits)


def top_logits(ids: npt.NDArray[np.generic], values: Array, log_sum_exp: Array) -> KeptLogits:
    """Take the largest logits [T, K] of each row with the log-sum-exp [T] over all."""
    return KeptLogits(ids.astype(np.int64), values.astype(np.float64) - log_sum_exp.astype(np.float64)[:, None])


def find_kept_fault(ids: npt.NDArray[np.generic], values: Array, vocabulary: int) -> str:
    """Say why these cannot be the largest logits of rows over a vocabulary; empty if they can."""
    wanted = min(KEPT, vocabulary)
    if ids.shape[-1] != wanted:
        return f"{ids.shape[-1]} logits of a row are kept, {wanted} are to be"
    whole = ids.astype(np.int64)
    if whole.size and (whole.min() < 0 or whole.max() >= vocabulary):
        return f"token ids {whole.min()}..{whole.max()} of kept logits leave the vocabulary of {vocabulary}"
    if (np.diff(np.sort(whole, axis=-1), axis=-1) == 0).any():
        return "a token stands twice among the kept logits of a row"
    if (np.diff(values, axis=-1) > 0).any():
        return "the kept logits of a row do not stand largest first"
    return ""


def cut_logits(logits: Array) -> tuple[npt.NDArray[np.int32], Array, Array]:
    """Give what is kept of logits [T, V] of a large vocabulary: ids and values [T, ``KEPT``], and log-sum-exp [T]."""
    kept = min(KEPT, logits.shape[-1])
    ids = np.argsort(-logits, axis=-1, kind="stable")[:, :kept].astype(np.int32)
    values = np.take_along_axis(logits, ids.astype(np.int64), -1)
    largest = values[:, 0].astype(np.float64)
    total = largest + np.log(np.exp(logits.astype(np.float64) - largest[:, None]).sum(axis=-1))
    return ids, values.astype(np.float32), total.astype(np.float32)


def spread_logits(kept: KeptLogits, vocabulary: int) -> Array:
    """Give log-probabilities [T, V]: the recorded ones, and for every other token an equal share of what remains."""
    if kept.logits is not None:
        return kept.logits
    rest = _with_rest(kept.logprobs)[:, -1:] - np.log(max(1, vocabulary - kept.ids.shape[-1]))
    table = np.repeat(rest, vocabulary, axis=-1).astype(np.float32)
    np.put_along_axis(table, kept.ids, kept.logprobs.astype(np.float32), -1)
    return table


def _with_rest(logprobs: Table) -> Table:
    """Add the probability of all other tokens as one outcome; at least 1e-12 of it, so that its logarithm is finite."""
    rest = np.log(np.maximum(1e-12, 1 - np.exp(logprobs).sum(axis=-1, keepdims=True)))
    return np.concatenate([logprobs, rest], axis=-1)


def _far(values: Table) -> Table:
    """Read NaN as infinitely far."""
    result: Table = np.where(np.isnan(values), np.inf, values)
    return result
