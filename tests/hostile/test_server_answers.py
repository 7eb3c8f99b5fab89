"""Answers wrong in one run, part or respect alone: each fails its own clause, and no other must."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence.server import ServerRole
from eagle3_contracts.faults.injecting.servers import Asked, Engine, StandIn, serve
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.servers import gather
from eagle3_contracts.subjects.servers.transport import Limits

ENGINE = Engine()
HIDDEN = 64
COUNTS = ("spec_verify_ct", "spec_accept_length", "spec_correct_drafts_histogram")

Json = dict[str, Any]
Edit = Callable[[Json, Asked], None]


@cache
def contract() -> Contract:
    return load_contract(CONTRACT)


def judge(role: ServerRole, edit: Edit, **info: Any) -> list[Finding]:
    """Give all findings on a stand-in whose answers are edited."""

    def change(given: Json, asked: Asked) -> Json:
        edit(given, asked)
        return given

    stand_in = StandIn(role, ENGINE, edit=change, inform=lambda said: said | info)
    with serve(stand_in) as url:
        name = url if role == "eagle3" else f"{role}={url}"
        evidence = gather(contract(), Subject("server", name, "server"), Options(), Limits(5, 60, 120))
    return [item for clause in clauses_of("server") for item in judge_clause(clause, contract(), evidence)]


def violated(findings: list[Finding]) -> dict[str, str]:
    return {
        item.clause.partition(".")[2]: item.observed
        for item in findings
        if item.verdict is Verdict.FAILED and item.level is Level.MUST
    }


def in_batch(asked: Asked) -> bool:
    return asked.batch > 1


def again(asked: Asked) -> bool:
    return asked.batch == 1 and asked.count > 0


def lose_states(when: Callable[[Asked], bool]) -> Edit:
    def edit(given: Json, asked: Asked) -> None:
        if when(asked):
            given["meta_info"].pop("hidden_states", None)

    return edit


def later(change: Callable[[list[list[float]]], list[list[float]]]) -> Edit:
    """Change the rows of generated tokens; those of the prompt stay."""

    def edit(given: Json, _: Asked) -> None:
        prompt, *rows = given["meta_info"]["hidden_states"]
        given["meta_info"]["hidden_states"] = [prompt, *change(rows)]

    return edit


def exchange_planes(rows: list[list[float]]) -> list[list[float]]:
    return [[*row[HIDDEN : 2 * HIDDEN], *row[:HIDDEN], *row[2 * HIDDEN :]] for row in rows]


def raise_own_logprobs(given: Json, _: Asked) -> None:
    """Give the output's own tokens another likelihood than the lists of most likely tokens give them."""
    meta = given["meta_info"]
    if meta.get("output_token_logprobs"):
        meta["output_token_logprobs"] = [[value - 2.0, *rest] for value, *rest in meta["output_token_logprobs"]]


def end_early(reason: str) -> Edit:
    """End the text after ten tokens, with counts that agree with it."""

    def edit(given: Json, _: Asked) -> None:
        given["output_ids"], meta = given["output_ids"][:10], given["meta_info"]
        meta |= {"completion_tokens": 10, "finish_reason": {"type": reason, "matched": 2}}
        meta |= {"spec_verify_ct": 9, "spec_accept_length": 10 / 9, "spec_correct_drafts_histogram": [9]}
        for name in ("output_token_logprobs", "output_top_logprobs"):
            if name in meta:
                meta[name] = meta[name][:10]

    return edit


def count_wrong(given: Json, asked: Asked) -> None:
    if in_batch(asked):
        given["meta_info"]["spec_verify_ct"] += 5


SCALED = later(lambda rows: [[0.3 * number for number in row] for row in rows])
NARROW = later(lambda rows: [row[:5] for row in rows])
ZERO = later(lambda rows: [[0.0] * len(row) for row in rows])
SHIFTED = later(lambda rows: [*rows[1:], rows[-1]])

CASES: dict[str, tuple[ServerRole, Edit, dict[str, str]]] = {
    "no states in the batch": ("eagle3", lose_states(in_batch), {"hidden-states": "8 of 24 answers without"}),
    "no states the second time": ("eagle3", lose_states(again), {"hidden-states": "the second time first"}),
    "planes of later rows exchanged": ("eagle3", later(exchange_planes), {"order": "rows of generated tokens"}),
    "later rows one late": ("eagle3", SHIFTED, {"token-shift": "rows of generated tokens"}),
    "later rows never written": ("eagle3", ZERO, {"zero-rows": "552 of 1,293", "boundary": "rows of generated tokens"}),
    "later rows of another width": ("eagle3", NARROW, {"width": "rows of generated tokens of 5"}),
    "a later final state scaled": ("plain", SCALED, {"final-state": "rows of generated tokens"}),
    "likelihoods of the output's own tokens": ("eagle3", raise_own_logprobs, {"logprobs": "positions of generated"}),
    "a text that ends early": ("eagle3", end_early("stop"), {"greedy-text": "ends after 10 of the 24 tokens"}),
    "counts wrong in the batch": ("eagle3", count_wrong, {"counters": "in the batch: the histogram"}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_wrong_in_part_fails_its_own_clause_and_no_other_must(name: str) -> None:
    role, edit, expected = CASES[name]
    found = violated(judge(role, edit))
    assert set(found) == set(expected)
    assert all(words in found[clause] for clause, words in expected.items()), found


def test_rows_of_prompts_alone_are_enough() -> None:
    assert not violated(judge("eagle3", later(lambda _: [])))


def test_a_text_cut_by_the_context_is_no_other_text_and_foretells_no_acceptance() -> None:
    findings = judge("eagle3", end_early("length"))
    assert not violated(findings)
    (accepted,) = [item for item in findings if item.clause == "server.accepted-tokens"]
    assert accepted.verdict is Verdict.ERRORED


def test_likelihoods_without_lists_of_the_most_likely_are_no_other_models() -> None:
    def edit(given: Json, _: Asked) -> None:
        for name in ("input_top_logprobs", "output_top_logprobs"):
            given["meta_info"].pop(name, None)

    assert not violated(judge("eagle3", edit))


def test_a_server_with_an_algorithm_and_no_draft_does_not_pass_for_one_that_drafts_nothing() -> None:
    found = violated(judge("eagle3", lambda *_: None, speculative_draft_model_path=None))
    assert set(found) == {"drafter"}
    assert found["drafter"].startswith("no draft model")


def test_an_answer_that_counts_nothing_in_the_batch_is_not_counted_as_checked() -> None:
    def edit(given: Json, asked: Asked) -> None:
        if in_batch(asked):
            for name in COUNTS:
                given["meta_info"].pop(name, None)

    (counters,) = [item for item in judge("eagle3", edit) if item.clause == "server.counters"]
    assert counters.verdict is Verdict.ERRORED
    assert counters.observed.startswith("8 of 24 answers without rounds and histogram")
