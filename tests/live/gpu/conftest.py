"""Servers on a CUDA device, examined once for the run, and the evidence file that the run writes.

Collected by tox's environment ``gpu`` alone. Without a CUDA device the run ends in one sentence, with status 1. Nothing
stands in for a part of SGLang here: what the folder above offers torchvision takes effect only where its own library
does not load. The target and drafter are the embedded ones.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.reports.evidence_file import list_complaints, write_evidence
from eagle3_contracts.subjects.servers.launching.device import tell_absence
from support.gpu.machine import WRITTEN_TO, read_commit, read_machine, read_versions
from support.gpu.record import IncompleteError, Record, name_command
from support.gpu.servers import VARIANTS, Examined, Variant, examine_all, plan_variant

RECORD = pytest.StashKey[Record]()
COMMIT = pytest.StashKey[tuple[str, bool]]()
TOLD = pytest.StashKey[list[str]]()
WRONG_IDS = "wrong ids"
ONE_STEP = ("--speculative-num-steps", "1", "--speculative-num-draft-tokens", "16")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gpu", "evidence of a run on a GPU")
    group.addoption("--gpu-evidence", default=WRITTEN_TO, help="where a whole run writes its evidence file")
    group.addoption("--gpu-commit", default=None, help="SHA or SHA-dirty of this tree, where git knows none")


def pytest_collection(session: pytest.Session) -> None:
    """End at once where there is no device, or where nobody can say what is tested."""
    absence = tell_absence()
    if absence:
        pytest.exit(absence, returncode=1)
    try:
        given = session.config.getoption("--gpu-commit")
        session.config.stash[COMMIT] = read_commit(session.config.rootpath, given)
    except RuntimeError as error:
        pytest.exit(str(error), returncode=1)


@pytest.fixture(scope="session")
def record(contract: Contract, drafter: Path, request: pytest.FixtureRequest) -> Record:
    """What this run finds."""
    names = {str(embedded_target()): "TARGET", str(drafter): "DRAFTER"}
    kept = request.config.stash[RECORD] = Record(contract, names)
    return kept


@pytest.fixture(scope="session")
def wrong_drafter(drafter: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The drafter with ids one late."""
    folder = shutil.copytree(drafter, tmp_path_factory.mktemp("wrong") / "drafter")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [2, 4, 5]}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def examined(
    contract: Contract, drafter: Path, wrong_drafter: Path, record: Record
) -> Iterator[Mapping[str, Examined]]:
    """Every server, examined; those that are to be kept still run, alone on the device."""
    target = embedded_target()
    planned = {
        name: (plan_variant(contract, target, drafter, variant), variant.kept) for name, variant in VARIANTS.items()
    }
    wrong = plan_variant(contract, target, wrong_drafter, Variant("eagle3"), more=ONE_STEP)
    record.examined = examine_all(contract, target, {**planned, WRONG_IDS: (wrong, False)})
    yield record.examined
    for item in record.examined.values():
        if item.server is not None:
            item.server.stop()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the evidence of a whole run, whatever it found; that it cannot be written fails the run."""
    found = session.config.stash.get(RECORD, None)
    if found is None:
        return
    path = session.config.rootpath / session.config.getoption("--gpu-evidence")
    told = session.config.stash[TOLD] = _describe(found)
    try:
        import torch

        command = name_command(tuple(map(str, session.config.invocation_params.args)), session.config.rootpath)
        commit = session.config.stash[COMMIT]
        evidence = found.conclude(command, commit, read_machine(torch.version.cuda), read_versions())
        write_evidence(path, evidence)
    except IncompleteError as error:
        told.append(f"no evidence file was written: {error}")
    except (OSError, RuntimeError, ValueError) as error:
        told.append(f"ERROR: no evidence file was written: {error}")
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
    else:
        told.append(f"evidence: {session.config.getoption('--gpu-evidence')}, {evidence.seconds:.0f} s")
        told += [f"not yet evidence: {item}" for item in list_complaints(evidence, CONTRACT, found.contract.digest)]


def _describe(found: Record) -> list[str]:
    replays = [
        f"rows of {item.server} against {item.twin}: median {item.prompt_median:.3g} of {item.prompt_rows} in prompts, "
        f"{item.later_median:.3g} of {item.later_rows} later, bound {item.bound:.3g}"
        for item in found.replays.values()
    ]
    speeds = [
        f"{item.requests} at once: {item.ratio:.2f} times the speed without speculation ({item.seconds_with:.3f} s for "
        f"{item.new_tokens} tokens each, {item.seconds_without:.3f} s without; {item.accept_length:.2f} tokens per "
        f"verification); {item.meaning}"
        for item in found.speed.values()
    ]
    return [*replays, *speeds]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Tell what was measured and where it was written."""
    lines = config.stash.get(TOLD, [])
    if lines:
        terminalreporter.section("on this GPU")
    for line in lines:
        terminalreporter.line(line)
