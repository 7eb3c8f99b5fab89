"""The typed evidence of each stage: what was read from a subject, before anyone judges it.

Types only. Arrays are numpy, float32 unless said otherwise; the dtype that a subject really stored or
computed in stands beside them as a torch dtype's name. Shapes: T tokens, H hidden, P planes, n layers,
V vocabulary, C candidates, S shifts. Clauses get these types and never a path, a file handle or a URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.findings import Rung, Where
from eagle3_contracts.numerics import QuantileSketch

Array = npt.NDArray[np.float32]
Table = npt.NDArray[np.float64]
State = Literal["raw", "pre_norm", "post_norm", "branch"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why something could not be read or run: what kind of defect, the reason, the remedy, the place.

    ``kind``: unsafe (more than tensors in a pickle), truncated, corrupt, unknown-format, ambiguous,
    missing (a file, key or sample), empty, unsupported, crashed (the code under test raised), ragged (planes of
    one request that do not stack), target (the subject could not be held against the target), needs (an optional
    package is not installed).
    """

    kind: str
    reason: str
    remedy: str
    where: Where = field(default_factory=Where)


# --- the target ---------------------------------------------------------------------------------------------


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


# --- capture ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CapturedRequest:
    """What the capture code gave for one request.

    ``given``: the token ids asked for; ``token_ids``: those it returned. ``planes`` [P, T, H]: what it returned as
    planes, then ``last_hidden`` [T, H] if it came apart. ``shapes``: of the same, one by one; planes that do not
    stack are kept there alone, and ``planes`` is then [0, 0, 0]. ``dtype``: of what it returned, several joined by
    slashes.
    """

    given: tuple[int, ...]
    token_ids: tuple[int, ...]
    planes: Array
    dtype: str
    shapes: tuple[tuple[int, ...], ...]
    last_hidden: Array | None = None


@dataclass(frozen=True, slots=True)
class CaptureEvidence:
    """What the capture code under test did.

    ``form``: ``batch``, or ``single`` for code that takes one sequence and returns planes alone; it cannot be
    asked for a batch, and its token ids are those given, so that the clauses on both have nothing to judge
    (``notes`` says so).
    ``alone``: each request by itself. ``batched``: the same requests in the same order in one padded batch,
    ``repeated``: the same alone again, after others; a run that went wrong is cut short there, with a problem.

    Three signs of memory that is not the plane's own. ``held``: the first request's planes kept by reference
    while everything else ran, and read again at the end; a difference from ``alone[0].planes`` is overwritten
    memory (None if they no longer stack; ``held_shapes`` then differs from ``alone[0].shapes``: one list that
    every call appends to). ``overlaps``: pairs of the first request's planes that lie on common memory. Planes of
    different boundaries that are bit-identical: one buffer, captured several times and copied at the end. With a full
    target a fourth: ``halfway``, for each plane the layer whose state between its sublayers (R[k+1] without the
    branch of layer k) is nearest, and the median relative L2 from it: what a tap that kept a reference shows when
    the next layer adds its attention in place; no ids give it. Empty if it was not measured. A plane that a later
    layer overwrites whole, without any of these signs, cannot be told from ids that are one off.
    ``comparison``: against the reference target, over ``alone``; ``compute_dtype``: the dtype the capture ran in, as
    far as it says so, which with ``CapturedRequest.dtype`` sets the tolerance.
    """

    subject: str
    alone: tuple[CapturedRequest, ...] = ()
    batched: tuple[CapturedRequest, ...] = ()
    repeated: tuple[CapturedRequest, ...] = ()
    held: Array | None = None
    compute_dtype: str = "float32"
    comparison: TargetComparison | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    form: Literal["batch", "single"] = "batch"
    held_shapes: tuple[tuple[int, ...], ...] = ()
    overlaps: tuple[tuple[int, int], ...] = ()
    halfway: tuple[tuple[int, float], ...] = ()


# --- dataset ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TensorHeader:
    """What a file's header says of a tensor: torch dtype name and shape."""

    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tally:
    """How often something was seen, and where first (at most a few places)."""

    count: int = 0
    first: tuple[Where, ...] = ()

    def merge(self, other: Tally, keep: int = 5) -> Tally:
        """Add another tally; keep the first few places."""
        return Tally(self.count + other.count, (self.first + other.first)[:keep])


@dataclass(frozen=True, slots=True)
class PlaneRecord:
    """Statistics of one stored plane, over any number of samples; records merge.

    ``rows``: rows read. ``nonfinite`` and ``zero``: tallies of rows. ``norms``: sketch of the per-token L2 over
    the finite rows.
    ``repeat_pairs``, ``repeat_equal``: pairs of rows of the same token id within a sample or across samples
    at different positions, and how many are bit-identical (1.0 at boundary 0, 0.0 elsewhere). Across samples
    only different positions count: samples that begin alike (a system prompt) have equal rows at every boundary.
    ``row_digests``: a bounded sample of rows, (token id, position) to 64-bit digest, so that records of
    different files can be compared; it is counted into the two numbers, and emptied, once all records are
    merged (``datasets.repeats.settle_repeats``).
    """

    rows: int = 0
    nonfinite: Tally = field(default_factory=Tally)
    zero: Tally = field(default_factory=Tally)
    norms: QuantileSketch = field(default_factory=QuantileSketch)
    repeat_pairs: int = 0
    repeat_equal: int = 0
    row_digests: Mapping[tuple[int, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Signature:
    """The shape of a sample as the header tells it; a sound dataset has one signature or very few.

    ``planes``: number of planes. ``widths`` and ``dtypes``: per plane, in disk order. ``row_surplus``: rows
    minus token ids (None: no token ids in the file). ``mask_surplus``: mask entries minus token ids (None:
    no mask). ``tensors``: header facts by name with T in place of the sample's length (``("hidden_states",
    "bfloat16 [T, 4, 64]")``); scales of quantised states are among them.
    """

    planes: int
    widths: tuple[int, ...]
    dtypes: tuple[str, ...]
    row_surplus: int | None
    mask_surplus: int | None
    tensors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DatasetEvidence:
    """What was read from a dataset, one file or terabytes; two pieces of evidence merge into one.

    ``format``: the format's id, None if it was not recognised (``problems`` then says why, and names the
    candidates). ``scan``: headers, sample or full. ``signatures``: each shape seen, with how often and where.
    ``planes``: per plane in disk order. ``tokens_below_zero`` and ``token_maximum`` (with its place): ids.
    ``mask_other``: entries neither 0 nor 1; ``mask_all_zero``, ``mask_all_one``: samples. ``identical_planes``:
    pairs of planes (by position) whose rows are equal, tallied over samples. ``token_digests`` and
    ``state_digests``: sample digest to tally, so that duplicated samples show. ``lengths``: tokens per sample.
    ``comparison``: k samples held against the target. ``recaptured``: samples whose states were compared with
    what the target computes from their token ids; ``strangers``: those whose states are another sample's or
    nobody's. ``declared``: what files and their neighbours say of themselves: ``data_config`` (speculators v1),
    ``dataset`` (TorchSpec), ``stamp``, ``hidden_states_prenorm`` (a bool, or the tuple of both if files differ).
    """

    subject: str
    format: str | None = None
    scan: str = "sample"
    files_found: int = 0
    files_read: int = 0
    samples: int = 0
    signatures: Mapping[Signature, Tally] = field(default_factory=dict)
    planes: tuple[PlaneRecord, ...] = ()
    tokens_below_zero: Tally = field(default_factory=Tally)
    token_maximum: int | None = None
    token_maximum_where: Where = field(default_factory=Where)
    mask_other: Tally = field(default_factory=Tally)
    mask_all_zero: Tally = field(default_factory=Tally)
    mask_all_one: Tally = field(default_factory=Tally)
    identical_planes: Mapping[tuple[int, int], Tally] = field(default_factory=dict)
    token_digests: Mapping[str, Tally] = field(default_factory=dict)
    state_digests: Mapping[str, Tally] = field(default_factory=dict)
    lengths: QuantileSketch = field(default_factory=QuantileSketch)
    comparison: TargetComparison | None = None
    recaptured: int = 0
    strangers: tuple[Stranger, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    declared: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stranger:
    """A sample whose states the target does not compute from its token ids.

    ``match``: the sample whose token ids do give these states, if one of the probes does. ``distance``: the
    smallest median relative L2 of any plane from any boundary, for its own tokens.
    """

    where: Where
    distance: float
    match: Where | None = None
