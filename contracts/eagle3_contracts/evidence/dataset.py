"""What was read from a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from eagle3_contracts.evidence.problem import Problem
from eagle3_contracts.evidence.target import TargetComparison
from eagle3_contracts.findings import Where
from eagle3_contracts.numerics import QuantileSketch


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

    @property
    def place(self) -> Where:
        """The first place, or nowhere if none was kept."""
        return next(iter(self.first), Where())

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
