"""Logits rebuilt from a plane, as if it were the final state, against the target's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import Array, LogitComparison, ReferenceStates, Table
from eagle3_contracts.numerics import log_softmax

if TYPE_CHECKING:
    from eagle3_contracts.subjects.targets import Target

Reading = Literal["pre_norm", "post_norm", "double_norm"]
READINGS: tuple[Reading, ...] = ("pre_norm", "post_norm", "double_norm")

TOP = 10
"""Tokens of the reference whose log-probabilities are compared: what a sampler can draw, not the noise of the tail."""

LOGIT_ROWS = 256
_BLOCK = 1 << 23
"""Logits that are held at a time."""
_CHEAP = 1e9
"""Multiplications per plane and reading up to which every plane is rebuilt, not only the final ones."""


@dataclass(slots=True)
class _Pool:
    """Numbers of one plane under one reading, over all tokens so far."""

    differences: list[Table] = field(default_factory=list)
    divergences: list[Table] = field(default_factory=list)
    agreements: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    surprises: list[Table] = field(default_factory=list)


class RebuiltLogits:
    """Logits of the chosen planes under every reading, compared in blocks of tokens."""

    def __init__(self, target: Target, planes: Sequence[int], vocab: int) -> None:
        self._target = target
        self._block = max(1, _BLOCK // vocab)
        self._pools: dict[tuple[int, Reading], _Pool] = {
            (plane, reading): _Pool() for plane in planes for reading in READINGS
        }

    def add(
        self,
        tokens: npt.NDArray[np.int64],
        planes: Array,
        reference: ReferenceStates | None,
        rows: npt.NDArray[np.int64],
    ) -> None:
        """Rebuild these rows of one sample; at most ``LOGIT_ROWS`` of them."""
        chosen = rows[:: max(1, -(-len(rows) // LOGIT_ROWS))]
        for first in range(0, len(chosen), self._block):
            block = chosen[first : first + self._block]
            expected = log_softmax(reference.logits[block]) if reference else None
            for (plane, reading), pool in self._pools.items():
                found = log_softmax(self._target.logits(self._read(planes[plane, block], reading)))
                _measure(pool, found, expected, tokens, block)

    def result(self) -> tuple[LogitComparison, ...]:
        """Sum up each plane and reading; the target's own logits are compared if it could run."""
        return tuple(
            LogitComparison(
                plane=plane,
                reading=reading,
                text_nll=_mean(pool.surprises),
                logprob_max=_median(pool.differences),
                kl=_mean(pool.divergences) if pool.divergences else None,
                argmax_agreement=_mean(pool.agreements) if pool.agreements else None,
            )
            for (plane, reading), pool in self._pools.items()
        )

    def _read(self, state: Array, reading: Reading) -> Array:
        for _ in range({"post_norm": 0, "pre_norm": 1, "double_norm": 2}[reading]):
            state = self._target.final_norm(state)
        return state


def choose_planes(contract: Contract, declared: Sequence[Plane], count: int, rows: int) -> tuple[int, ...]:
    """Choose the planes to rebuild: all if that is cheap, else those declared final or used as the last hidden state.

    With none of these among them (or another number of planes than declared) it is the last one, where every
    format that holds a final state keeps it.
    """
    target = contract.target
    if min(rows, LOGIT_ROWS) * target.vocab_size * target.hidden_size <= _CHEAP:
        return tuple(range(count))
    named = {contract.drafter.last_hidden}
    wanted = [at for at, plane in enumerate(declared) if plane.is_final or plane.name in named]
    return tuple(wanted) if wanted and len(declared) == count else (count - 1,)


def _measure(
    pool: _Pool, found: Table, expected: Table | None, tokens: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> None:
    followed = rows + 1 < len(tokens)
    pool.surprises.append(_far(-found[followed, tokens[rows[followed] + 1]]))
    if expected is None:
        return
    top = np.argpartition(expected, -min(TOP, expected.shape[-1]), axis=-1)[:, -TOP:]
    gap = np.take_along_axis(expected, top, -1) - np.take_along_axis(found, top, -1)
    pool.differences.append(_far(np.abs(gap)).max(axis=-1))
    pool.divergences.append(_far((np.exp(expected) * (expected - found)).sum(axis=-1)))
    pool.agreements.append(expected.argmax(axis=-1) == found.argmax(axis=-1))


def _far(values: Table) -> Table:
    """Read NaN, which a broken plane gives, as infinitely far."""
    return np.where(np.isnan(values), np.inf, values)


def _mean(pool: Sequence[npt.NDArray[np.float64] | npt.NDArray[np.bool_]]) -> float:
    values = np.concatenate(pool) if pool else np.empty(0)
    return float(values.mean()) if values.size else float("nan")


def _median(pool: Sequence[Table]) -> float | None:
    return float(np.median(np.concatenate(pool))) if pool else None
