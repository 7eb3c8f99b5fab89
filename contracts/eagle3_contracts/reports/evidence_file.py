"""The evidence file of a run on a GPU: what was measured, on what, of which commit, and what it lacks.

``tox -e gpu`` writes it, a test without a GPU reads it: whoever has none can see what was shown on one, and that it
still speaks of the contract in the catalog. A file that was made up for a test says so, and is never accepted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from eagle3_contracts.findings import Finding, Level, leaves_open
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.reports.json_report import dump_json
from eagle3_contracts.reports.writing import write_text

LONGEST = 480.0
"""Seconds that the tests on a GPU may take."""

AGAIN = "run `tox -e gpu` on a machine with a GPU and commit what it writes"

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Measure = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class EvidenceFileError(ValueError):
    """A file that is no evidence file, with every reason."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Machine(_Part):
    """The device as the driver names it; ``cuda``: what torch was built for. ``memory_gib``: of the device."""

    device: Text
    capability: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+$")]
    memory_gib: Seconds
    driver: Text
    cuda: Text


class Versions(_Part):
    """What ran: packages as they were installed, and Python."""

    python: Text
    eagle3_contracts: Text
    sglang: Text
    sglang_kernel: Text
    torch: Text
    transformers: Text
    triton: Text


class Served(_Part):
    """One server: its command, and what it said of itself. ``graphs``: the backend of CUDA graphs, by phase.

    ``graph_steps``, ``eager_steps``: decoding steps that it logged, with a replayed graph and without.
    """

    role: Literal["eagle3", "capture", "plain"]
    command: Text
    device: Text
    attention_backend: Text
    dtype: Text
    graphs: dict[Literal["decode", "prefill"], Text]
    graph_steps: Count
    eager_steps: Count
    started_seconds: Seconds

    @property
    def has_graphs(self) -> bool:
        """Whether decoding replays CUDA graphs, by the server's arguments."""
        return self.graphs.get("decode", "disabled") != "disabled"


class VerdictCounts(_Part):
    """Verdicts of one clause on all servers. ``left_open``: skipped or unchecked for want of something."""

    passed: Count = 0
    failed: Count = 0
    errored: Count = 0
    skipped: Count = 0
    left_open: Count = 0


class Replay(_Part):
    """Rows of states with graphs against rows without: the median relative L2 over rows, the prompts' and later ones.

    ``later_rows``: of generated tokens, as far as both servers generated the same; those are what graphs replay.
    """

    server: Text
    twin: Text
    prompt_rows: Count
    prompt_median: Measure
    later_rows: Count
    later_median: Measure
    bound: Seconds


class Speed(_Part):
    """Seconds for the same tokens with speculation and without, medians of ``repeats``, in turns; nothing is asserted.

    ``ratio``: without over with. ``accept_length``: tokens per verification.
    """

    requests: Annotated[int, Field(gt=0)]
    new_tokens: Annotated[int, Field(gt=0)]
    repeats: Annotated[int, Field(gt=0)]
    seconds_with: Seconds
    seconds_without: Seconds
    ratio: Seconds
    accept_length: Seconds
    meaning: Text


class EvidenceFile(_Part):
    """One run. ``dirty``: files differed from the commit. ``seconds``: of all tests that fed this file."""

    schema_version: Literal[1]
    origin: Literal["measured", "made up for a test"]
    date: AwareDatetime
    command: Text
    commit: Commit
    dirty: bool
    contract: Text
    digest: Digest
    machine: Machine
    versions: Versions
    stand_ins: tuple[Text, ...]
    servers: dict[Text, Served]
    clauses: dict[Text, VerdictCounts]
    replays: tuple[Replay, ...]
    speed: tuple[Speed, ...]
    seconds: Seconds


def count_verdicts(findings: Iterable[Finding]) -> dict[str, VerdictCounts]:
    """Count what each clause found."""
    counts: dict[str, dict[str, int]] = {}
    for item in findings:
        own = counts.setdefault(item.clause, {})
        own[str(item.verdict)] = own.get(str(item.verdict), 0) + 1
        own["left_open"] = own.get("left_open", 0) + leaves_open(item)
    return {clause: VerdictCounts(**own) for clause, own in counts.items()}


def write_evidence(path: Path, evidence: EvidenceFile) -> None:
    """Write a file whole or not at all; raise ``OSError`` where that fails."""
    write_text(path, dump_json(evidence.model_dump(mode="json")) + "\n")


def read_evidence(path: Path) -> EvidenceFile:
    """Read a file; raise ``EvidenceFileError`` for what is no evidence, an unknown key included."""
    try:
        return EvidenceFile.model_validate_json(path.read_bytes())
    except ValidationError as error:
        places = (f"{'.'.join(map(str, item['loc'])) or 'the file'}: {item['msg']}" for item in error.errors())
        raise EvidenceFileError(f"{path.name} is no evidence file: {'; '.join(places)}") from None
    except OSError as error:
        raise EvidenceFileError(f"{path.name} cannot be read: {error.strerror}") from None


def list_complaints(evidence: EvidenceFile, contract: str, digest: str) -> list[str]:
    """Say, one sentence each, why a file shows less than a run on a GPU must; ``contract``: the default of today."""
    return [
        *_origin_complaints(evidence),
        *_stale_complaints(evidence, contract, digest),
        *_clause_complaints(evidence),
        *_server_complaints(evidence),
        *_measure_complaints(evidence),
    ]


def _origin_complaints(evidence: EvidenceFile) -> Iterator[str]:
    if evidence.origin != "measured":
        yield f"it was {evidence.origin} and measured nowhere; {AGAIN}"
    if evidence.dirty:
        yield f"files differed from commit {evidence.commit[:12]}, so it speaks of none; commit, then {AGAIN}"
    if evidence.stand_ins:
        yield f"stand-ins took part: {', '.join(evidence.stand_ins)}; on a GPU everything is SGLang's own"


def _stale_complaints(evidence: EvidenceFile, contract: str, digest: str) -> Iterator[str]:
    if evidence.contract != contract:
        yield f"it is stale: it speaks of {evidence.contract}, and the default is {contract}; {AGAIN}"
    elif evidence.digest != digest:
        yield f"it is stale: {contract} had digest {evidence.digest[:16]}, the catalog's is {digest[:16]}; {AGAIN}"
    known = {clause.id for clause in clauses_of("server")}
    if lost := sorted(known - evidence.clauses.keys()):
        yield f"it is stale or partial: it knows nothing of {', '.join(lost)}; {AGAIN}"
    if gone := sorted(evidence.clauses.keys() - known):
        yield f"it is stale: no clause of a server is called {', '.join(gone)}; {AGAIN}"


def _clause_complaints(evidence: EvidenceFile) -> Iterator[str]:
    levels = {clause.id: clause.level for clause in clauses_of("server")}
    for clause, counts in evidence.clauses.items():
        if counts.failed and levels.get(clause) is not Level.SHOULD:
            yield f"{clause} failed {counts.failed} times"
        if counts.errored or counts.left_open:
            yield f"{clause} was left open {max(counts.errored, counts.left_open)} times"
        if not counts.passed + counts.failed:
            yield f"{clause} was decided on no server"


def _server_complaints(evidence: EvidenceFile) -> Iterator[str]:
    servers = evidence.servers.values()
    if lost := {"eagle3", "capture", "plain"} - {item.role for item in servers}:
        yield f"no server had the role {', '.join(sorted(lost))}"
    drafting = [item for item in servers if item.role == "eagle3"]
    kinds = {(item.attention_backend == "triton", item.has_graphs) for item in drafting}
    wanted = {(True, True): "triton with graphs", (True, False): "triton without graphs"}
    if lost_kinds := [name for kind, name in wanted.items() if kind not in kinds]:
        yield f"no drafting server ran {' or '.join(lost_kinds)}"
    if {item.has_graphs for item in drafting} != {True, False}:
        yield "drafting servers ran with CUDA graphs alone, or without alone; both are to be compared"
    for name, item in evidence.servers.items():
        if item.device != "cuda":
            yield f"server {name} ran on {item.device}, not on cuda"
        if item.dtype != "bfloat16":
            yield f"server {name} computed in {item.dtype}, not in bfloat16"
        if item.has_graphs is not (item.graph_steps > 0):
            yield f"server {name} replayed graphs in {item.graph_steps} logged steps, against its own arguments"


def _measure_complaints(evidence: EvidenceFile) -> Iterator[str]:
    for item in evidence.replays:
        if not item.prompt_rows or not item.later_rows:
            yield f"{item.server} against {item.twin}: no rows were compared"
        if (worst := max(item.prompt_median, item.later_median)) > item.bound:
            yield f"{item.server} against {item.twin}: rows part by {worst:.3g}, bound {item.bound:.3g}"
    replayed = {evidence.servers[item.server].role for item in evidence.replays if item.server in evidence.servers}
    if lost := {"eagle3", "capture"} - replayed:
        yield f"graphs were compared for no server with the role {', '.join(sorted(lost))}"
    if not evidence.speed:
        yield "speed with against without speculation was not measured"
    for speed in evidence.speed:
        if not math.isclose(speed.ratio, speed.seconds_without / speed.seconds_with, rel_tol=1e-3):
            yield f"the ratio for {speed.requests} requests is not that of its seconds"
    if evidence.seconds > LONGEST:
        yield f"the run took {evidence.seconds:.0f} s, more than the {LONGEST:.0f} s that it may"
