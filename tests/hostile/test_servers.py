"""Servers that lie, stall or babble: always evidence with a problem, never an exception, never an answer believed."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.faults.injecting.servers import Engine, StandIn, serve
from eagle3_contracts.faults.injecting.servers.connections import CONNECTION_FAULTS, on
from eagle3_contracts.faults.injecting.servers.information import server_info, with_internal_states
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.servers import gather
from eagle3_contracts.subjects.servers.answers import read_answer
from eagle3_contracts.subjects.servers.arguments import read_arguments
from eagle3_contracts.subjects.servers.asking import Question
from eagle3_contracts.subjects.servers.failing import REMEDIES, ServerProblemError
from eagle3_contracts.subjects.servers.json_answers import parse_json
from eagle3_contracts.subjects.servers.transport import Limits

ENGINE = Engine()
SLOW = ("server-hangs", "server-drips", "server-drips-headers")
QUICK, PATIENT = Limits(2, 0.4, 0.8, 1 << 22), Limits(2, 30, 60, 1 << 22)
KINDS = set(REMEDIES)


@cache
def contract() -> Contract:
    return load_contract(CONTRACT)


def examine(stand_in: StandIn, limits: Limits) -> ServerEvidence:
    with serve(stand_in) as url:
        return gather(contract(), Subject("server", url, "server"), Options(), limits)


@pytest.mark.parametrize("fault", CONNECTION_FAULTS)
@pytest.mark.parametrize("route", ["/server_info", "/generate"])
def test_a_faulty_connection_is_one_problem_and_no_answer(fault: str, route: str) -> None:
    stand_in = StandIn("plain", ENGINE, hijack=on(route, CONNECTION_FAULTS[fault]))
    evidence = examine(stand_in, QUICK if fault in SLOW else PATIENT)
    assert len(evidence.problems) == 1 or route == "/server_info"
    assert {problem.kind for problem in evidence.problems} <= KINDS
    assert evidence.problems
    assert all(probe.alone is None and probe.prediction is None for probe in evidence.probes) or (
        fault == "server-answers-other-types" and route == "/server_info"
    )


def test_a_server_that_ends_between_two_questions_is_unreachable_or_cut_off() -> None:
    stand_in = StandIn("plain", ENGINE)

    def close(handler: object, route: str, _: bytes) -> bool:
        if route == "/generate":
            handler.server.socket.close()  # type: ignore[attr-defined]
            handler.connection.close()  # type: ignore[attr-defined]
            return True
        return False

    stand_in.hijack = close
    evidence = examine(stand_in, PATIENT)
    assert [problem.kind for problem in evidence.problems] == ["truncated"]


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


def read_or_refuse(read: Callable[[], Any], kinds: Collection[str]) -> Any:
    """Give what was read, None where it was refused; any other exception is a failure."""
    try:
        return read()
    except ServerProblemError as error:
        problem = error.problem
    assert problem.kind in kinds
    assert problem.reason.isprintable()
    return None


@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_json_or_a_problem(body: bytes) -> None:
    read_or_refuse(lambda: parse_json(body, "here"), {"no-json", "truncated", "malformed"})


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """List every place in an answer, long lists by their first two entries alone."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value[:2]))
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


PROMPT = (0, 4, 108)


@cache
def sound_answer() -> dict[str, Any]:
    request = Question(PROMPT, 2, hidden_states=True, top=2, request_id="mine").body()
    answer: dict[str, Any] = json.loads(StandIn().respond("POST", "/generate", json.dumps(request).encode())[1])
    return answer


@settings(max_examples=150)
@given(st.data(), JSON)
def test_an_answer_with_any_part_replaced_is_read_or_refused(data: st.DataObject, new: object) -> None:
    question = Question(PROMPT, 2, hidden_states=True, top=2, request_id="mine")
    path = data.draw(st.sampled_from(places(sound_answer())))
    changed = replaced(sound_answer(), path, new)
    read = read_or_refuse(lambda: read_answer(question, changed), {"malformed", "foreign", "status"})
    if read is not None:
        assert len(read.output_ids) <= 2
        assert read.rows is None or read.rows.ndim == 2


@cache
def sound_info() -> dict[str, Any]:
    return with_internal_states(server_info(ENGINE, "eagle3"))


@settings(max_examples=100)
@given(st.data(), JSON)
def test_arguments_with_any_part_replaced_are_read_or_refused(data: st.DataObject, new: object) -> None:
    names = [
        name for name in sound_info() if name.startswith(("spec", "model", "context", "dtype", "disable", "enable"))
    ]
    path = data.draw(st.sampled_from([(), *((name,) for name in names), ("internal_states",), ("launch_command",)]))
    changed = replaced(sound_info(), path, new)
    read = read_or_refuse(lambda: read_arguments(changed), {"malformed"})
    if read is not None:
        arguments, problems = read
        assert arguments.steps is None or isinstance(arguments.steps, int)
        assert all(problem.kind == "malformed" and problem.reason.isprintable() for problem in problems)
