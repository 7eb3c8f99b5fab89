"""What a target computes, and what holding planes against it showed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence.problem import Array, Table
from eagle3_contracts.findings import Rung

State = Literal["raw", "pre_norm", "post_norm", "branch"]


@dataclass(frozen=True, slots=True)
class ReferenceStates:
    """What the target computes for one sequence alone.

    ``boundaries`` [n+1, T, H]: R[0..n], the last before the final norm. ``final`` [T, H]: final_norm(R[n]).
    ``branches`` [n, T, H] or None: what the last sublayer of layer k adds (its MLP's output), so that
    ``branches[k]`` is what a tap at boundary k+1 shows when the residual is not added. ``logits`` [T, V].
    """

    token_ids: npt.NDArray[np.int64]
    boundaries: Array
    final: Array
    logits: Array
    branches: Array | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One tensor of the target that a captured plane might be.

    ``raw`` and ``pre_norm`` are R[boundary]; ``post_norm`` is final_norm(R[n]); ``branch`` is the last
    sublayer's output at that boundary, without the residual.
    """

    boundary: int
    state: State = "raw"

    def __str__(self) -> str:
        """Say it as an engineer would: ``boundary 31``, ``boundary 8, post-norm``."""
        words = {"post_norm": ", post-norm", "pre_norm": ", pre-norm", "branch": ", without its residual"}
        return f"boundary {self.boundary}{words.get(self.state, '')}"


@dataclass(frozen=True, slots=True)
class StateComparison:
    """Distances of captured planes from every candidate of the target, at several token shifts.

    ``median`` and ``p99`` [S, P, C]: of the per-token relative L2, sink tokens excluded. Shift s compares
    row t of the plane with row t + s of the candidate. ``tokens``: rows compared, ``sinks``: rows excluded.
    ``sink_median`` [P, C] or None: the same at shift 0 over the sink rows alone, for information.
    """

    candidates: tuple[Candidate, ...]
    shifts: tuple[int, ...]
    median: Table
    p99: Table
    tokens: int
    sinks: int
    sink_median: Table | None = None


@dataclass(frozen=True, slots=True)
class LogitComparison:
    """Logits rebuilt from one plane under one reading, against the target's own.

    ``reading``: ``pre_norm`` is head(final_norm(x)), ``post_norm`` is head(x), ``double_norm`` is
    head(final_norm(final_norm(x))). ``logprob_max``: the largest |difference of log-probability| over the
    reference's top 10 tokens, median over tokens; ``kl``: mean KL divergence (nats); ``argmax_agreement``
    is for information and proves nothing. Without the target's own logits (rung "norm + head") these are
    None and ``text_nll``, the mean negative log-likelihood (nats) of the text's next token, is all there is.
    """

    plane: int
    reading: Literal["pre_norm", "post_norm", "double_norm"]
    text_nll: float
    logprob_max: float | None = None
    kl: float | None = None
    argmax_agreement: float | None = None


@dataclass(frozen=True, slots=True)
class TargetComparison:
    """All that was learned by holding planes against a target, whole or partial.

    ``rung``: what the target at hand could decide. ``states``: full target only. ``logits``: norm + head
    and up. ``embedding_distance`` [P]: median relative L2 of each plane from the embedding rows of its tokens,
    embedding and up. ``norm_vector_rms`` [P]: median over tokens of rms(row / final-norm weight), norm
    vector and up: close to 1 for a post-norm state, far from it otherwise. ``tokens``: rows used.
    ``notes``: what was assumed or could not be had.
    """

    rung: Rung
    tokens: int
    states: StateComparison | None = None
    logits: tuple[LogitComparison, ...] = ()
    embedding_distance: Table | None = None
    norm_vector_rms: Table | None = None
    notes: tuple[str, ...] = ()
