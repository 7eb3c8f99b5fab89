"""A server becomes evidence: what it says, every probe answered three times, and what it should have said."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION
from eagle3_contracts.evidence.server import ServerEvidence, ServerRole
from eagle3_contracts.faults.injecting.servers import Engine, StandIn, deform, serve
from eagle3_contracts.findings import Rung
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.goldens import open_golden
from eagle3_contracts.subjects.servers import gather
from eagle3_contracts.subjects.servers import gathering as module
from eagle3_contracts.subjects.servers.references import expected_planes
from eagle3_contracts.subjects.servers.transport import Limits

ROLES: tuple[ServerRole, ...] = ("eagle3", "capture", "plain")
ENGINE = Engine()
"""One engine for all sound servers, so that each answer is computed once."""


@cache
def contract() -> Contract:
    return load_contract(CONTRACT)


def examine(stand_in: StandIn, name: str = "{}", target: str | None = None) -> ServerEvidence:
    with serve(stand_in) as url:
        subject = Subject("server", name.format(url), "server")
        return gather(contract(), subject, Options(target=target), Limits(5, 30, 60))


@cache
def sound(role: ServerRole) -> ServerEvidence:
    return examine(StandIn(role, ENGINE))


@pytest.mark.parametrize("role", ROLES)
def test_a_sound_server_is_answered_for_in_full(role: ServerRole) -> None:
    evidence = sound(role)
    assert (evidence.role, evidence.asked_role, evidence.problems, evidence.notes) == (role, None, (), ())
    assert evidence.url.startswith("http://127.0.0.1:")
    recorded = open_golden(NAME, VERSION)
    assert [list(probe.token_ids) for probe in evidence.probes] == [
        entry["token_ids"] for entry in recorded.manifest["sequences"]
    ]
    assert evidence.batch_size == 16
    for probe in evidence.probes:
        assert probe.alone is not None
        assert probe.repeated is not None
        assert probe.batched is not None
        assert probe.prediction is not None
        for answer in (probe.alone, probe.repeated, probe.batched):
            assert answer.token_ids == probe.token_ids
            assert answer.rows is not None
            assert answer.rows.shape == (len(probe.token_ids), 64 if role == "plain" else 192)


@pytest.mark.parametrize("role", ROLES)
def test_the_prediction_is_what_a_sound_server_answers(role: ServerRole) -> None:
    for probe in sound(role).probes:
        own, foretold = probe.alone, probe.prediction
        assert own is not None
        assert foretold is not None
        assert own.output_ids == foretold.output_ids
        assert foretold.gaps.shape == (len(foretold.output_ids),)
        assert (foretold.gaps >= 0).all()
        rows = len(probe.token_ids) + len(foretold.output_ids)
        assert foretold.top_ids.shape == foretold.top_logprobs.shape == (rows, 32)
        assert len(own.logprobs) == rows - 1
        for item in own.logprobs:
            known = dict(
                zip(foretold.top_ids[item.position].tolist(), foretold.top_logprobs[item.position], strict=True)
            )
            given = [known[token] for token in item.top_ids]
            np.testing.assert_allclose(given, np.asarray(item.top_logprobs, np.float64), atol=1e-3)


def test_the_histogram_is_foretold_exactly_by_another_arithmetic_than_the_servers() -> None:
    depths: set[int] = set()
    for probe in sound("eagle3").probes:
        assert probe.alone is not None
        assert probe.alone.counters is not None
        assert probe.prediction is not None
        assert probe.prediction.accepted is not None
        served, foretold = probe.alone.counters.accepted, probe.prediction.accepted
        assert served is not None
        assert foretold == (*served, *[0] * (len(foretold) - len(served)))
        depths |= {depth for depth, count in enumerate(served) if count}
    assert depths == {0, 1, 2, 3}, "rounds of every depth, or the comparison says little"


@pytest.mark.parametrize("role", ["capture", "plain"])
def test_a_server_that_drafts_nothing_has_no_histogram_foretold(role: ServerRole) -> None:
    for probe in sound(role).probes:
        assert probe.prediction is not None
        assert (probe.prediction.accepted, probe.prediction.unpredicted) == (None, "the server drafts nothing")


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("eagle3", ["boundary 2", "boundary 4", "boundary 5"]),
        ("capture", ["boundary 2", "boundary 4", "boundary 5"]),
        ("plain", ["boundary 8, post-norm"]),
    ],
)
def test_the_rows_are_held_against_the_whole_target(role: ServerRole, expected: list[str]) -> None:
    comparison = sound(role).comparison
    assert comparison is not None
    assert comparison.rung is Rung.FULL
    assert comparison.states is not None
    nearest = comparison.states.median[comparison.states.shifts.index(0)].argmin(axis=-1)
    assert [str(comparison.states.candidates[at]) for at in nearest] == expected
    assert comparison.tokens == sum(len(probe.token_ids) for probe in sound(role).probes) >= 64


def test_what_the_user_said_the_server_is_for_is_kept() -> None:
    evidence = examine(StandIn("plain", ENGINE), "capture={}")
    assert (evidence.role, evidence.asked_role) == ("plain", "capture")


def test_rows_lost_to_a_cache_show_in_the_second_answer_alone() -> None:
    evidence = examine(deform("server-radix-cache"))
    long = evidence.probes[0]
    assert long.alone is not None
    assert long.repeated is not None
    assert long.alone.rows is not None
    assert long.repeated.rows is not None
    assert (len(long.alone.rows), len(long.repeated.rows)) == (len(long.token_ids), 2)
    assert long.repeated.cached_tokens == len(long.token_ids) - 2


def test_a_short_chunk_is_probed_beyond_its_end() -> None:
    stand_in = StandIn("capture", ENGINE, inform=lambda info: info | {"chunked_prefill_size": 128})
    lengths = [len(probe.token_ids) for probe in examine(stand_in).probes]
    assert max(lengths) == 137


def test_probes_that_do_not_fit_into_the_context_are_left_out_with_a_note() -> None:
    evidence = examine(StandIn("plain", ENGINE, inform=lambda info: info | {"context_length": 64}))
    assert all(len(probe.token_ids) <= 31 for probe in evidence.probes)
    assert any("do not fit into a context of 64 tokens" in note for note in evidence.notes)


def test_the_first_problem_ends_the_questions_and_what_was_answered_stays() -> None:
    asked = 0

    def fail_third(handler: object, route: str, _: bytes) -> bool:
        nonlocal asked
        asked += route == "/generate"
        if asked == 3 and route == "/generate":
            handler.reply(500, b"{}")  # type: ignore[attr-defined]
            return True
        return False

    evidence = examine(StandIn("eagle3", ENGINE, hijack=fail_third))
    assert [problem.kind for problem in evidence.problems] == ["status"]
    assert [probe.alone is not None for probe in evidence.probes[:3]] == [True, True, False]
    assert evidence.probes[2].prediction is None
    assert (asked, evidence.batch_size) == (3, 0)


def test_a_target_with_a_smaller_vocabulary_is_asked_nothing(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"vocab_size": 200}', encoding="utf-8")
    routes: list[str] = []

    def note(_: object, route: str, __: bytes) -> bool:
        routes.append(route)
        return False

    evidence = examine(StandIn(inform=lambda info: info | {"model_path": str(tmp_path)}, hijack=note))
    assert [problem.kind for problem in evidence.problems] == ["target"]
    assert "/generate" not in routes


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"speculative_draft_model_path": "someone/draft"}, "no folder with weights on this machine"),
        ({"speculative_num_steps": None}, "usable numbers"),
        ({"quantization": "fp8"}, "quantised"),
        ({"speculative_adaptive": True}, "speculative_adaptive"),
        ({"speculative_algorithm": "EAGLE"}, "not EAGLE3"),
    ],
)
def test_what_cannot_be_foretold_says_why(changes: dict[str, object], reason: str) -> None:
    evidence = examine(StandIn("eagle3", ENGINE, inform=lambda info: info | changes))
    for probe in evidence.probes:
        assert probe.prediction is not None
        assert probe.prediction.accepted is None
        assert reason in probe.prediction.unpredicted


def test_a_server_that_is_starting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    left = 2

    def starting(handler: object, route: str, _: bytes) -> bool:
        nonlocal left
        if route == "/health" and left:
            left -= 1
            handler.reply(503, b"")  # type: ignore[attr-defined]
            return True
        return route != "/health" and bool(handler.reply(404, b"{}"))  # type: ignore[attr-defined]

    stand_in = StandIn(hijack=starting)
    evidence = examine(stand_in)
    assert left == 0
    assert "404" in evidence.problems[0].reason
    monkeypatch.setattr(module, "PATIENCE", 0.0)
    left = 9
    assert "503" in examine(dataclasses.replace(stand_in)).problems[0].reason


def test_a_contract_without_recording_and_target_is_probed_and_compared_with_nothing() -> None:
    other = contract().model_copy(update={"name": "unrecorded"})
    with serve(StandIn("capture", ENGINE)) as url:
        evidence = gather(other, Subject("server", url, "server"), Options())
    assert evidence.comparison is None
    assert any("no target is at hand" in note for note in evidence.notes)
    assert sum(len(probe.token_ids) for probe in evidence.probes) >= 64
    assert all(probe.alone is not None and probe.prediction is None for probe in evidence.probes)


def test_a_target_that_is_none_is_the_users_mistake() -> None:
    with pytest.raises(SubjectError, match="does not exist"):
        examine(StandIn("plain", ENGINE), target="nowhere")


def test_the_planes_expected_of_a_server_follow_from_its_role() -> None:
    assert [plane.name for plane in expected_planes(contract(), "eagle3")] == ["low", "mid", "high"]
    assert expected_planes(contract(), "capture") == expected_planes(contract(), "eagle3")
    (final,) = expected_planes(contract(), "plain")
    assert (final.boundary, final.state) == (8, "post_norm")
