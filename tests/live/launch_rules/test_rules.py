"""What the ``launch`` stage says of a command is what the installed SGLang makes of it: its own parser and resolution.

The server's arguments decide before any model is loaded. What stops a server only later (a tree without a size, or
with more nodes than candidates) is not seen here, and such launches are named.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence import LaunchEvidence
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.launchers import draft_effect, find_flag, names_in, reads_planes
from eagle3_contracts.launchers.dtypes import NAMES, automatic_dtype
from eagle3_contracts.launchers.speculation import FAMILIAR, Drafting
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject
from support.launch_commands import ALGORITHMS, ARCHITECTURES, DTYPES, NUMBERS, OVERRIDE, STORED

if TYPE_CHECKING:
    from conftest import Answers

pytestmark = pytest.mark.live

LATER = "the size of its tree is looked at when it drafts"


def judge(answers: Answers, contract: Contract, name: object, clause_id: str, before: str = "") -> list[Finding]:
    """Judge the launch that was resolved by one clause, read as the text of a command."""
    command = answers.commands[name]
    beside = " ".join(f"{key}={value}" for key, value in command.environment.items())
    text = f"{beside} python3 -m sglang.launch_server {shlex.join(command.words)} {before}".strip()
    evidence = gather_evidence(contract, Subject("launch", text, "command"), Options())
    assert isinstance(evidence, LaunchEvidence)
    assert not evidence.problems
    (clause,) = [item for item in clauses_of("launch") if item.id == clause_id]
    return judge_clause(clause, contract, evidence)


def failed(findings: list[Finding]) -> bool:
    assert {item.verdict for item in findings} <= {Verdict.PASSED, Verdict.FAILED}, findings
    return any(item.verdict is Verdict.FAILED for item in findings)


def test_the_flags_that_are_known_are_the_servers(answers: Answers) -> None:
    assert names_in("sglang", answers.release) == {name for name in answers.flags if name.startswith("--")} - {"--help"}


@pytest.mark.parametrize("numbers", NUMBERS, ids=str)
def test_the_draft_tokens_are_those_of_the_server(
    answers: Answers, numbers: tuple[int | None, int | None, int | None]
) -> None:
    effect = draft_effect("sglang", Drafting(*numbers), "LlamaForCausalLM")
    server = answers.resolved["numbers", *numbers]
    if effect.outcome == "runs":
        assert not server.stops
        assert server.arguments["speculative_num_draft_tokens"] == effect.tokens
    elif server.stops:
        assert "speculative_hook.py" in server.stops
    else:
        _, topk, tokens = numbers
        assert topk is not None, LATER
        assert topk > 1, LATER
        assert server.arguments["speculative_num_draft_tokens"] == tokens, LATER


def test_the_story_is_found_by_the_clause_and_done_by_the_server(answers: Answers, contract: Contract) -> None:
    (finding,) = judge(answers, contract, ("numbers", 1, 1, 16), "launch.draft-tokens")
    assert finding.verdict is Verdict.FAILED
    assert answers.resolved["numbers", 1, 1, 16].arguments["speculative_num_draft_tokens"] == 2
    assert "2 of 16" in finding.observed


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_defaults_go_by_the_targets_architecture(answers: Answers, architecture: str) -> None:
    effect = draft_effect("sglang", Drafting(), architecture)
    assert answers.resolved["architecture", architecture].arguments["speculative_num_draft_tokens"] == effect.tokens


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_algorithms_are_the_servers(answers: Answers, contract: Contract, algorithm: str) -> None:
    server = answers.resolved["algorithm", algorithm]
    known = algorithm.upper() in FAMILIAR["sglang"]
    assert bool(server.stops) is not known
    if known:
        assert server.arguments["speculative_algorithm"] in {algorithm.upper(), "EAGLE"}
        assert failed(judge(answers, contract, ("algorithm", algorithm), "launch.algorithm")) is not reads_planes(
            "sglang", server.arguments["speculative_algorithm"]
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_named_dtype_is_the_one_of_target_and_drafter(answers: Answers, contract: Contract, dtype: str) -> None:
    server = answers.resolved["dtype", dtype]
    stored = automatic_dtype(json.loads((embedded_target() / "config.json").read_text(encoding="utf-8")))
    expected = stored if dtype == "auto" else NAMES[dtype]
    assert server.target["dtype"] == server.draft["dtype"] == expected
    wrong = expected != contract.target.dtype
    assert failed(judge(answers, contract, ("dtype", dtype), "launch.dtype")) is wrong


@pytest.mark.parametrize("stored", STORED)
def test_an_automatic_dtype_goes_by_what_the_config_says(answers: Answers, contract: Contract, stored: str) -> None:
    server = answers.resolved["stored", stored]
    config = json.loads((target_of(answers, ("stored", stored)) / "config.json").read_text(encoding="utf-8"))
    assert server.target["dtype"] == automatic_dtype(config)
    assert failed(judge(answers, contract, ("stored", stored), "launch.dtype")) is (
        server.target["dtype"] != contract.target.dtype
    )


def target_of(answers: Answers, name: object) -> Path:
    words = answers.commands[name].words
    return Path(words[words.index("--model-path") + 1])


@pytest.mark.parametrize("override", ["", OVERRIDE])
@pytest.mark.parametrize("length", [1024, 2048, 4096])
def test_a_context_beyond_the_positions_stops_the_server_or_stretches_the_drafter(
    answers: Answers, contract: Contract, length: int, override: str
) -> None:
    server, reach = answers.resolved["context", length, override], contract.drafter.max_position
    beyond = length > reach
    assert bool(server.stops) is (beyond and not override)
    if not server.stops:
        assert server.target["context"] == server.draft["context"] == length
    else:
        assert OVERRIDE in server.stops
    promised = contract.serving.context_length if contract.serving is not None else None
    short = promised is not None and length < promised
    (finding,) = judge(answers, contract, ("context", length, override), "launch.context")
    assert failed([finding]) is (beyond or short)
    assert ("without a word" in finding.observed) is (beyond and bool(override))


def test_the_drafter_inherits_the_targets_quantisation_unless_told(answers: Answers, contract: Contract) -> None:
    name = "speculative_draft_model_quantization"
    inheriting, told = answers.resolved["quantised"], answers.resolved["unquantised drafter"]
    assert inheriting.arguments[name] == inheriting.arguments["quantization"] == "fp8"
    assert told.arguments[name] is None
    quantised = contract.model_copy(update={"target": contract.target.model_copy(update={"quantization": "fp8"})})
    assert failed(judge(answers, quantised, "quantised", "launch.quantization"))
    assert not failed(judge(answers, quantised, "unquantised drafter", "launch.quantization"))


def test_what_loses_rows_of_states_is_on_unless_it_is_turned_off(answers: Answers, contract: Contract) -> None:
    silent, told = answers.resolved["states"].arguments, answers.resolved["states, as told"].arguments
    assert silent["disable_radix_cache"] is False
    assert silent["chunked_prefill_size"] > 0
    assert told["disable_radix_cache"] is True
    assert told["chunked_prefill_size"] <= 0
    assert failed(judge(answers, contract, "states", "launch.hidden-states"))
    assert not failed(judge(answers, contract, "states, as told", "launch.hidden-states"))


def test_the_beginning_of_a_flag_is_the_flag(answers: Answers) -> None:
    server = answers.resolved["beginning of a flag"]
    assert server.arguments["speculative_num_steps"] == 2
    assert {flag.name for flag in find_flag("sglang", "--speculative-num-step")} == {"--speculative-num-steps"}


def test_an_unknown_flag_stops_the_server(answers: Answers, contract: Contract) -> None:
    assert "SystemExit" in answers.resolved["unknown flag"].stops
    assert failed(judge(answers, contract, "unknown flag", "launch.flags"))
