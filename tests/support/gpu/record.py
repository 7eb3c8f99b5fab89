"""What the tests on a GPU found, gathered test by test, and the evidence file that it makes."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Finding
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.reports.evidence_file import (
    EvidenceFile,
    Machine,
    Replay,
    Served,
    Speed,
    Versions,
    count_verdicts,
)
from support.gpu.servers import REPLAYED, VARIANTS, Examined, graphs_of
from support.gpu.speed import REQUESTS

UNKNOWN = "not told"


class IncompleteError(RuntimeError):
    """A run of which a part is missing: no evidence."""


@dataclass(slots=True)
class Record:
    """What was found so far; ``began``: when the run did."""

    contract: Contract
    names: dict[str, str]
    examined: dict[str, Examined] = field(default_factory=dict)
    findings: dict[tuple[str, str], tuple[Finding, ...]] = field(default_factory=dict)
    replays: dict[str, Replay] = field(default_factory=dict)
    speed: dict[int, Speed] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def conclude(self, command: str, commit: tuple[str, bool], machine: Machine, versions: Versions) -> EvidenceFile:
        """Make the evidence file; raise ``IncompleteError`` for a run of a part of the tests."""
        self._demand_all()
        return EvidenceFile(
            schema_version=1,
            origin="measured",
            date=datetime.now(UTC).replace(microsecond=0),
            command=command,
            commit=commit[0],
            dirty=commit[1],
            contract=self.contract.reference,
            digest=self.contract.digest,
            machine=machine,
            versions=versions,
            stand_ins=tuple(sorted({part for item in self.examined.values() for part in item.plan.stand_ins})),
            servers={name: self._serve(self.examined[name]) for name in VARIANTS},
            clauses=count_verdicts(item for found in self.findings.values() for item in found),
            replays=tuple(self.replays.values()),
            speed=tuple(self.speed.values()),
            seconds=round(time.monotonic() - self.began, 1),
        )

    def _demand_all(self) -> None:
        wanted = {(name, clause.id) for name in VARIANTS for clause in clauses_of("server")}
        missing = [f"{len(lost)} clauses on servers"] if (lost := wanted - self.findings.keys()) else []
        missing += [f"the replay of {name}" for name in REPLAYED if name not in self.replays]
        missing += [f"the speed of {requests} requests" for requests in REQUESTS if requests not in self.speed]
        if missing:
            raise IncompleteError(f"not run, or ended early: {', '.join(missing)}")

    def _serve(self, item: Examined) -> Served:
        arguments = item.evidence.arguments
        return Served(
            role=item.plan.role,
            command=self._shorten(str(item.plan)),
            device=(arguments.device if arguments is not None else None) or UNKNOWN,
            attention_backend=(arguments.attention_backend if arguments is not None else None) or UNKNOWN,
            dtype=(arguments.dtype if arguments is not None else None) or UNKNOWN,
            graphs=graphs_of(item.evidence),  # type: ignore[arg-type]
            graph_steps=item.steps[0],
            eager_steps=item.steps[1],
            started_seconds=round(item.started, 1),
        )

    def _shorten(self, command: str) -> str:
        """Leave out where things lie on this machine."""
        for path, name in {sys.executable: "python", **self.names}.items():
            command = command.replace(path, name)
        return command


def name_command(arguments: tuple[str, ...], root: Path) -> str:
    """Write the command that ran, without where the repository lies."""
    return " ".join(("pytest", *arguments)).replace(f"{root}/", "")
