"""The story, live: a real server with ids one late, and one step where 16 tokens are asked for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.servers import gather
from eagle3_contracts.subjects.servers.launching import RunningServer

pytestmark = [pytest.mark.live, pytest.mark.xdist_group("story")]

ONE_STEP = ("--speculative-num-steps", "1", "--speculative-num-draft-tokens", "16")


@pytest.fixture(scope="module")
def findings(
    serve: Callable[..., RunningServer], contract: Contract, drafter: Path, run_folder: Path
) -> dict[str, list[Finding]]:
    """What the clauses say of that server, by clause."""
    wrong = run_folder / "ids-one-late"
    if not wrong.is_dir():
        shutil.copytree(drafter, wrong, dirs_exist_ok=True)
        config = json.loads((wrong / "config.json").read_text(encoding="utf-8"))
        config["eagle_config"] = {"eagle_aux_hidden_state_layer_ids": [2, 4, 5]}
        (wrong / "config.json").write_text(json.dumps(config), encoding="utf-8")
    server = serve("eagle3", flags=("--speculative-draft-model-path", str(wrong), *ONE_STEP))
    evidence = gather(contract, Subject("server", server.url, "story"), Options(target=str(embedded_target())))
    return {clause.id: judge_clause(clause, contract, evidence) for clause in clauses_of("server")}


def test_the_boundaries_found_and_the_ids_to_write_are_named(findings: dict[str, list[Finding]]) -> None:
    (boundary,) = findings["server.boundary"]
    assert boundary.verdict is Verdict.FAILED
    assert boundary.observed.startswith("planes are boundaries 3, 5, 6")
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in boundary.hint


def test_two_of_sixteen_draft_tokens_are_in_effect(findings: dict[str, list[Finding]]) -> None:
    (tokens,) = findings["server.draft-tokens"]
    assert (tokens.verdict, tokens.measure) == (Verdict.FAILED, 2.0)
    assert tokens.observed.startswith("2 of 16 draft tokens are in effect")


def test_everything_else_looks_healthy(findings: dict[str, list[Finding]]) -> None:
    failed = {clause for clause, found in findings.items() if any(item.verdict is Verdict.FAILED for item in found)}
    assert {"server.boundary", "server.draft-tokens"} <= failed
    assert failed <= {"server.boundary", "server.draft-tokens", "server.accepted-tokens", "server.acceptance-shape"}
    assert not [item for found in findings.values() for item in found if item.verdict is Verdict.ERRORED]
