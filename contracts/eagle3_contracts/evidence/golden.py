"""What was read from a golden recording, and what running its target and drafter again showed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from eagle3_contracts.evidence.checkpoint import CheckpointEvidence, DraftedComparison
from eagle3_contracts.evidence.dataset import TensorHeader
from eagle3_contracts.evidence.problem import Problem

LogitForm = Literal["dense", "top-k"]
"""``dense``: a logit for every token. ``top-k``: the largest ones with their ids, and the log-sum-exp over all."""


WHOLE = frozenset({"top_ids", "drafted"})
"""Parts that hold token ids."""


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file of the recording. ``stated``: its sha256 and size by the manifest, None if it is not listed.

    ``found``: the same of what lies there, None if nothing does; a digest is "" where it was not computed.
    """

    name: str
    stated: tuple[str, int] | None = None
    found: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class RecordedSequence:
    """One sequence. ``length``, ``dtype``, ``digest``: as the manifest states them, the digest "" if it does not.

    ``actual_digest``: of the token ids that stand there. ``states``: by part (boundaries, final, logits or top_ids,
    top_logits, log_sum_exp) what lies on disk; ``drafts`` likewise. ``nonfinite``: values that are NaN or infinite, by
    part, None where no values were read. ``kept_fault``: why kept logits cannot be the largest ones, in words.
    """

    number: int
    token_ids: tuple[int, ...]
    length: int
    kind: str
    dtype: str
    digest: str = ""
    actual_digest: str = ""
    states: Mapping[str, TensorHeader] = field(default_factory=dict)
    drafts: Mapping[str, TensorHeader] = field(default_factory=dict)
    nonfinite: Mapping[str, int] | None = None
    kept_fault: str = ""

    @property
    def form(self) -> LogitForm:
        """Tell how its logits are stored."""
        return "top-k" if "top_ids" in self.states else "dense"


@dataclass(frozen=True, slots=True)
class WorstRow:
    """Where something is furthest off: the sequence, the row, and by how much."""

    sequence: int
    token: int
    value: float


@dataclass(frozen=True, slots=True)
class StateAgreement:
    """Recorded states of one dtype against the target's, run now: per boundary 0..n, then the state after the norm.

    ``median``: of the relative L2 over ``tokens`` rows that are no sinks (``sinks`` were left out). ``worst``: the row
    that is furthest off. ``nearest``: the tensor of the target that a plane is nearest to where that is another one,
    "" where it is its own.
    """

    dtype: str
    sequences: int
    tokens: int
    sinks: int
    median: tuple[float, ...]
    worst: tuple[WorstRow, ...]
    nearest: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogitAgreement:
    """Recorded log-probabilities against others. ``dtypes``: what both sides went through.

    ``against``: ``state``, the head's logits of the recorded final state; ``target``, the logits that the target gives
    now. ``logprob_max``: the largest difference over the ten most likely recorded tokens, median over ``tokens`` rows;
    ``worst``: the row where it is largest. ``kl``: mean divergence in nats, of top-k recordings with the remaining
    probability as one outcome.
    """

    against: Literal["state", "target"]
    form: LogitForm
    dtypes: tuple[str, ...]
    sequences: int
    tokens: int
    logprob_max: float
    worst: WorstRow
    kl: float


@dataclass(frozen=True, slots=True)
class GoldenEvidence:
    """What is known of one recording.

    ``contract``, ``digest``: what it says it was recorded for, the digest "" if it does not say. ``route``: the first
    of the forwards that recorded it, "" if it does not say; ``routes``: those that ran now. ``target_digest``: sha256
    of the target's weights, as recorded or of those that lie in the recording, "" if neither is known.
    ``versions``: of the tools that recorded it; ``installed``: of the same tools here, None for one that is not.
    ``compared``: sequences held against the target. ``uncompared``, ``undrafted``: why the states of others could not
    be, or their drafts not drafted again, by number. ``unfounded``: rows whose first drafted token is not the best of
    the recorded logits. ``drafter``: what lies in its
    folder, None without one. ``problems``: kinds ``missing`` (there is no recording), ``corrupt``, ``truncated``,
    ``unsupported``, ``unsafe`` (the manifest names a file outside the folder), ``target``, ``needs``, ``drafted``.
    """

    subject: str
    scan: str = "sample"
    contract: str = ""
    digest: str = ""
    route: str = ""
    routes: tuple[str, ...] = ()
    target_digest: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    installed: Mapping[str, str | None] = field(default_factory=dict)
    files: tuple[RecordedFile, ...] = ()
    sequences: tuple[RecordedSequence, ...] = ()
    compared: tuple[int, ...] = ()
    uncompared: Mapping[int, str] = field(default_factory=dict)
    undrafted: Mapping[int, str] = field(default_factory=dict)
    states: tuple[StateAgreement, ...] = ()
    logits: tuple[LogitAgreement, ...] = ()
    drafter: CheckpointEvidence | None = None
    drafted: DraftedComparison | None = None
    unfounded: int = 0
    problems: tuple[Problem, ...] = ()


def shapes_of(found: Mapping[str, TensorHeader]) -> dict[str, tuple[int, ...]]:
    """Give the shapes of tensors by name."""
    return {name: header.shape for name, header in found.items()}


def find_misfit(found: Mapping[str, TensorHeader], expected: Mapping[str, tuple[int, ...]]) -> str:
    """Say of the first tensor that does not fit that it is missing, another shape, no float or left over; else ""."""
    for name, shape in expected.items():
        if name not in found:
            return f"{name} is missing"
        if found[name].shape != shape:
            return f"{name} is {list(found[name].shape)}, not {list(shape)}"
        whole = name in WHOLE
        if found[name].dtype.startswith(("int", "uint")) is not whole or found[name].dtype == "bool":
            return f"{name} is {found[name].dtype}, not {'whole numbers' if whole else 'floats'}"
    extra = sorted(set(found) - set(expected))
    return f"{extra[0]} is there beside what the form of its logits holds" if extra else ""
