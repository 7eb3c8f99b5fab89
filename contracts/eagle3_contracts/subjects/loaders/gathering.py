"""From a named loader to evidence: one run for each scenario that applies to it."""

from __future__ import annotations

from dataclasses import replace

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LoaderEvidence, LoaderRun, Problem
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.loaders.naming import make_loader, open_factory
from eagle3_contracts.subjects.loaders.protocol import Loader, Write
from eagle3_contracts.subjects.loaders.running import run_scenario
from eagle3_contracts.subjects.loaders.scenarios import SCENARIOS, Layout, list_skipped
from eagle3_contracts.subjects.loaders.sentinels import BITS
from eagle3_contracts.subjects.loaders.writing import WRITERS, find_writer
from eagle3_contracts.subjects.named_code import CodeError, NeedsError


def gather_loader(contract: Contract, subject: Subject, options: Options) -> LoaderEvidence:
    """Run the loader that ``subject`` names or is; see ``loaders.gather``."""
    del options
    try:
        loader = make_loader(contract, subject.code or open_factory(subject.value), subject.value)
        return _run_all(contract, subject, loader)
    except CodeError as error:
        remedy = "mend the code under test: it fails before anything is loaded"
        return LoaderEvidence(subject.label, problems=(Problem("crashed", str(error), remedy),))
    except NeedsError as error:
        return LoaderEvidence(subject.label, problems=(Problem("needs", error.reason, error.remedy),))


def _run_all(contract: Contract, subject: Subject, loader: Loader) -> LoaderEvidence:
    layout = Layout.of(contract, loader)
    evidence = LoaderEvidence(
        subject.label,
        format=loader.format,
        stored=tuple(plane.name for plane in contract.stored_planes(loader.format)),
        stored_dtype=layout.dtype,
        max_length=loader.max_length,
        skipped=list_skipped(loader, layout),
    )
    write = loader.write or find_writer(loader.format)
    problem = _find_problem(loader, layout, write)
    if problem is not None or write is None:
        return replace(evidence, problems=() if problem is None else (problem,))
    _demand_torch()
    runs: dict[str, LoaderRun] = {}
    for scenario in SCENARIOS:
        if scenario not in evidence.skipped:
            runs[scenario] = run_scenario(scenario, loader, write, layout)
            if runs["sound"].misfit is not None or runs["sound"].refusal:
                break
    usual = set(runs["sound"].reports)
    told = {name: replace(run, reports=tuple(line for line in run.reports if line not in usual))
            for name, run in runs.items() if name != "sound"}  # fmt: skip
    return replace(evidence, runs=runs | told)


def _find_problem(loader: Loader, layout: Layout, write: Write | None) -> Problem | None:
    """Say why no dataset can be written for a loader, or None."""
    if write is None:
        known = ", ".join(sorted(WRITERS))
        reason = f"no samples can be written in the format {loader.format!r}; known are {known}"
        return Problem("unsupported", reason, "give the loader its own writer: Loader(..., write=function)")
    if layout.hidden < BITS:
        reason = f"a hidden size of {layout.hidden} cannot carry the {BITS} bits that tell rows apart"
        return Problem("unsupported", reason, f"check the loader with a contract of hidden size {BITS} or more")
    return None


def _demand_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise NeedsError(
            "writing states for a loader needs torch, which is not installed", "pip install 'eagle3-contracts[torch]'"
        ) from None
