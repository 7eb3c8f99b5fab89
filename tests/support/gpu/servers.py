"""The servers of the tests on a GPU: which are started, how each is examined, and what it says of itself."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServerEvidence, ServerRole
from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects.servers.address import parse_address
from eagle3_contracts.subjects.servers.gathering import Running, examine
from eagle3_contracts.subjects.servers.launched import has_ended, tell_end
from eagle3_contracts.subjects.servers.launching import LaunchPlan, NotStartedError, RunningServer, plan_launch, start

TRITON = ("--attention-backend", "triton")
EAGER = ("--cuda-graph-backend-decode", "disabled", "--cuda-graph-backend-prefill", "disabled")
"""No CUDA graph in either phase; without these SGLang 0.5.23 captures both."""

START_LIMIT = 240.0
"""Seconds to the first answer; a first start compiles kernels. Less than usual, since all of it may take 8 minutes."""

AT_ONCE = 4
"""Servers that start side by side; each is three processes, which mostly import."""


_STEP = re.compile(r"Decode batch,.*\bcuda graph: (True|False)")


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to serve the target. ``kept``: it goes on running when it was examined, for the measurement of speed."""

    role: ServerRole
    flags: tuple[str, ...] = ()
    kept: bool = False

    @property
    def graphs(self) -> bool:
        """Whether CUDA graphs are wanted."""
        return not set(EAGER) <= set(self.flags)


VARIANTS: Mapping[str, Variant] = {
    "eagle3": Variant("eagle3", kept=True),
    "plain": Variant("plain", kept=True),
    "eagle3, no graphs": Variant("eagle3", EAGER),
    "eagle3, triton": Variant("eagle3", TRITON),
    "eagle3, triton, no graphs": Variant("eagle3", (*TRITON, *EAGER)),
    "capture": Variant("capture"),
    "capture, no graphs": Variant("capture", EAGER),
}
"""Every server that is held to all ``server.*`` clauses; the attention backend is SGLang's choice, or triton."""

REPLAYED = tuple(name for name, variant in VARIANTS.items() if variant.graphs and f"{name}, no graphs" in VARIANTS)
"""The servers with graphs that have a twin without."""


def eager_twin(name: str) -> str:
    """Give the name of the same server without graphs."""
    return f"{name}, no graphs"


@dataclass(frozen=True, slots=True)
class Examined:
    """A server that was examined. ``server``: it still runs, where it was to be kept. ``started``: seconds.

    ``steps``: lines of its log that tell of a decoding step, with a replayed CUDA graph and without.
    """

    plan: LaunchPlan
    evidence: ServerEvidence
    started: float
    steps: tuple[int, int] = (0, 0)
    server: RunningServer | None = None


def plan_variant(
    contract: Contract, target: Path, drafter: Path, variant: Variant, device: str = "cuda", more: Sequence[str] = ()
) -> LaunchPlan:
    """Plan one variant; ``more`` flags come last."""
    draft = drafter if variant.role == "eagle3" else None
    plan = plan_launch(contract, target, draft, variant.role, device=device, flags=(*variant.flags, *more))
    return replace(plan, start_limit=START_LIMIT)


def examine_all(
    contract: Contract, target: Path, planned: Mapping[str, tuple[LaunchPlan, bool]], at_once: int | None = None
) -> dict[str, Examined]:
    """Start and examine each planned server, a few side by side; stop those that need not be kept.

    What does not start is evidence of a server that could not be examined, as it is for any launched subject.
    """
    slots = at_once or max(1, min(AT_ONCE, (os.cpu_count() or 1) // 4))
    one_at_a_time = threading.Lock()  # the reference target runs in this process: its threads would fight

    def work(name: str) -> Examined:
        plan, kept = planned[name]
        return _examine(contract, target, name, plan, kept=kept, lock=one_at_a_time)

    with ThreadPoolExecutor(slots) as pool:
        return dict(zip(planned, pool.map(work, planned), strict=True))


def _examine(
    contract: Contract, target: Path, name: str, plan: LaunchPlan, *, kept: bool, lock: threading.Lock
) -> Examined:
    began = time.monotonic()
    try:
        server = start(plan)
    except NotStartedError as error:
        problem = Problem("exited", f"{error.source}: {error.reason}", error.remedy)
        lost = ServerEvidence(name, asked_role=plan.role, problems=(problem,))
        return Examined(plan, lost, time.monotonic() - began)
    seconds = time.monotonic() - began
    try:
        # How many tokens are asked for the server's own command says, which holds what a plan's last flags changed.
        running = Running(parse_address(server.url), plan.role, None, server.stand_ins, server.notes)
        with lock:
            evidence = examine(contract, name, running, Options(target=str(target)))
        if has_ended(server, in_doubt=bool(evidence.problems)):
            evidence = replace(evidence, problems=(*evidence.problems, tell_end(server)))
        steps = count_steps(server.log.read_text(encoding="utf-8", errors="replace"))
    except BaseException:
        server.stop()
        raise
    if not kept:
        server.stop()
    return Examined(plan, evidence, seconds, steps, server if kept else None)


def count_steps(log: str) -> tuple[int, int]:
    """Count the decoding steps in a log, with a replayed CUDA graph and without (0.5.23: metrics_reporter.py)."""
    told = _STEP.findall(log)
    return told.count("True"), told.count("False")


def graphs_of(evidence: ServerEvidence) -> dict[str, str]:
    """Give the backend of CUDA graphs by phase, as the server says it (SGLang 0.5.23: ``cuda_graph_config``)."""
    said: Any = evidence.arguments.raw.get("cuda_graph_config") if evidence.arguments is not None else None
    phases = said if isinstance(said, dict) else {}
    found = {phase: table.get("backend") for phase, table in phases.items() if isinstance(table, dict)}
    return {phase: backend for phase, backend in found.items() if isinstance(backend, str)}
