"""Captures that keep the protocol and captures that break it, run as users' code is run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch

from eagle3_contracts.subjects.captures.protocol import Captured
from eagle3_contracts.subjects.captures.running import CaptureRuns, run_requests

REQUESTS = ((3, 4, 5), (6, 7, 8, 9, 10), (11, 12))
Batch = Sequence[Sequence[int]]


def run(capture: Any) -> CaptureRuns:
    return run_requests(capture, REQUESTS)


def told(runs: CaptureRuns) -> list[tuple[str, str]]:
    return [(problem.kind, problem.reason) for problem in runs.problems]


def test_a_sound_capture_is_run_alone_in_a_batch_and_again(toy: Any) -> None:
    seen: list[list[int]] = []

    def capture(batch: Batch) -> list[Captured]:
        seen.append([len(ids) for ids in batch])
        return [Captured(ids, toy.planes(ids)) for ids in batch]

    runs = run(capture)
    assert seen == [[3], [5], [2], [3, 5, 2], [3], [5], [2]]
    assert runs.form == "batch"
    assert not runs.problems
    assert not runs.notes
    for done in (runs.alone, runs.batched, runs.repeated):
        assert [request.given for request in done] == list(REQUESTS)
        for request in done:
            np.testing.assert_array_equal(request.planes, toy.planes(request.given))
    assert runs.held is not None
    np.testing.assert_array_equal(runs.held, runs.alone[0].planes)
    assert runs.held_shapes == runs.alone[0].shapes
    assert runs.overlaps == ()


def test_an_answer_of_any_class_with_the_two_attributes_will_do(toy: Any) -> None:
    class Answer:
        def __init__(self, ids: Sequence[int]) -> None:
            self.token_ids, self.planes = ids, torch.tensor(toy.planes(ids))

    assert not run(lambda batch: tuple(Answer(ids) for ids in batch)).problems


def test_code_that_takes_one_sequence_is_run_without_a_batch(toy: Any) -> None:
    runs = run(toy.planes)
    assert runs.form == "single"
    assert not runs.problems
    assert runs.batched == ()
    assert "takes one sequence" in runs.notes[0]
    assert [request.token_ids for request in runs.repeated] == list(REQUESTS)


def test_code_for_one_sequence_that_survives_a_batch_is_told_by_its_answer(toy: Any) -> None:
    """``torch.tensor([[3, 4, 5]])`` works too, so that no exception tells the two forms apart."""
    embedding = torch.tensor(toy.embedding)
    runs = run(lambda tokens: [embedding[torch.tensor(tokens)]] * 1)
    assert runs.form == "single"
    assert runs.alone[0].shapes == ((3, 8),)


def test_a_capture_may_refuse_a_batch(toy: Any) -> None:
    def capture(batch: Batch) -> list[Captured]:
        if len(batch) > 1:
            raise NotImplementedError("one request at a time")
        return [Captured(ids, toy.planes(ids)) for ids in batch]

    runs = run(capture)
    assert not runs.problems
    assert runs.batched == ()
    assert len(runs.repeated) == 3
    assert "one request at a time" in runs.notes[0]


def test_a_capture_that_always_crashes_is_a_problem_of_one_line() -> None:
    def capture(_: Batch) -> list[Captured]:
        raise RuntimeError("first line\nno hook on layer 3")

    assert told(run(capture)) == [
        ("crashed", "on a request of 3 tokens, alone, the capture raised RuntimeError: no hook on layer 3")
    ]


def test_a_capture_that_exits_the_process_is_stopped() -> None:
    def capture(_: Batch) -> list[Captured]:
        raise SystemExit(3)

    assert told(run(capture))[0][0] == "crashed"


def test_two_different_crashes_are_both_told() -> None:
    def capture(tokens: Any) -> Any:
        if isinstance(tokens[0], list):
            raise TypeError("want ints")
        raise ValueError("id 3 is unknown")

    ((kind, reason),) = told(run(capture))
    assert kind == "crashed"
    assert "called with a batch raised TypeError: want ints" in reason
    assert "called with one sequence raised ValueError: id 3 is unknown" in reason


def test_a_batch_that_comes_back_as_tuples_is_told_once(toy: Any) -> None:
    ((kind, reason),) = told(run(lambda batch: [(ids, toy.planes(ids)) for ids in batch]))
    assert kind == "crashed"
    assert reason.endswith("the capture returned a list of tuple, not a list of Captured")


def test_a_capture_of_one_sequence_that_returns_no_planes_is_told_once() -> None:
    ((_, reason),) = told(run(lambda ids: {"ids": sum(ids)}))
    assert reason.endswith("the capture returned a dict that holds no planes")


@pytest.mark.parametrize("answer", [None, 5, "planes", [], [None], {"planes": 1}])
def test_an_answer_of_another_kind_names_the_protocol(answer: object) -> None:
    runs = run(lambda _: answer)
    assert told(runs)[0][0] == "crashed"
    assert "Captured(token_ids, planes)" in runs.problems[0].remedy


def test_answers_missing_in_a_batch_are_counted(toy: Any) -> None:
    runs = run(lambda batch: [Captured(ids, toy.planes(ids)) for ids in batch][:2])
    assert told(runs) == [
        (
            "crashed",
            "on a batch of 3 requests of different lengths, the capture returned 2 answers for 3 requests",
        )
    ]
    assert len(runs.alone) == 3
    assert runs.batched == runs.repeated == ()


def test_a_crash_at_a_later_request_keeps_what_was_had(toy: Any) -> None:
    def capture(batch: Batch) -> list[Captured]:
        if any(len(ids) > 4 for ids in batch):
            raise IndexError("slot 4")
        return [Captured(ids, toy.planes(ids)) for ids in batch]

    runs = run(capture)
    assert told(runs) == [("crashed", "on a request of 5 tokens, alone, the capture raised IndexError: slot 4")]
    assert [request.given for request in runs.alone] == [REQUESTS[0]]


def test_ragged_planes_stop_the_run_and_keep_their_shapes(toy: Any) -> None:
    def capture(batch: Batch) -> list[Captured]:
        return [Captured(ids, [*toy.planes(ids)[:2], toy.planes(ids)[2][:-1]]) for ids in batch]

    runs = run(capture)
    assert told(runs) == [("ragged", "planes of one request differ in shape: [3, 8], [3, 8], [2, 8]")]
    assert runs.alone[0].shapes == ((3, 8), (3, 8), (2, 8))
    assert runs.held is None
    assert runs.held_shapes == runs.alone[0].shapes


def test_token_ids_of_another_kind_are_a_problem(toy: Any) -> None:
    runs = run(lambda batch: [Captured("text", toy.planes(ids)) for ids in batch])
    assert told(runs)[0][0] == "unsupported"
    assert "token_ids is 'text'" in told(runs)[0][1]


def test_a_buffer_reused_by_the_next_request_shows_in_what_was_held(toy: Any) -> None:
    buffer = np.zeros((3, 16, 8), np.float32)

    def capture(batch: Batch) -> list[Captured]:
        answers = []
        for ids in batch:
            buffer[:, : len(ids)] = toy.planes(ids)
            answers.append(Captured(ids, buffer[:, : len(ids)]))
        return answers

    runs = run(capture)
    np.testing.assert_array_equal(runs.alone[0].planes, toy.planes(REQUESTS[0]))
    assert runs.held is not None
    assert not np.array_equal(runs.held, runs.alone[0].planes)


def test_a_list_that_every_call_appends_to_shows_in_the_held_shapes(toy: Any) -> None:
    kept: list[np.ndarray] = []

    def capture(batch: Batch) -> list[Captured]:
        answers = []
        for ids in batch:
            kept.extend(toy.planes(ids))
            answers.append(Captured(ids, kept if len(kept) == 3 else list(toy.planes(ids))))
        return answers

    runs = run(capture)
    assert runs.held is None
    assert len(runs.held_shapes) > len(runs.alone[0].shapes) == 3


def test_a_list_emptied_by_the_next_call_shows_in_the_held_shapes(toy: Any) -> None:
    kept: list[np.ndarray] = []

    def capture(batch: Batch) -> list[Captured]:
        kept.clear()
        if len(batch) == 1 and len(batch[0]) == 3:
            kept.extend(toy.planes(batch[0]))
            return [Captured(batch[0], kept)]
        return [Captured(ids, toy.planes(ids)) for ids in batch]

    runs = run(capture)
    assert runs.alone[0].shapes == ((3, 8),) * 3


def test_planes_on_common_memory_are_named(toy: Any) -> None:
    """Layers that add in place to the state that was captured: every plane is the same buffer."""

    def capture(batch: Batch) -> list[Captured]:
        answers = []
        for ids in batch:
            state, planes = torch.tensor(toy.planes(ids)[0]), []
            for _ in range(3):
                planes.append(state)
                state += 1
            answers.append(Captured(ids, planes))
        return answers

    assert run(capture).overlaps == ((0, 1), (0, 2), (1, 2))


def test_states_of_another_request_in_a_batch_are_kept_as_evidence(toy: Any) -> None:
    def capture(batch: Batch) -> list[Captured]:
        length = max(len(ids) for ids in batch)
        first = toy.planes([*batch[0], *[0] * (length - len(batch[0]))])
        return [Captured(ids, first[:, : len(ids)]) for ids in batch]

    runs = run(capture)
    assert not runs.problems
    assert not np.array_equal(runs.batched[1].planes, runs.alone[1].planes)


def test_padding_on_the_left_without_a_mask_shows_in_the_batch(toy: Any) -> None:
    def capture(batch: Batch) -> list[Captured]:
        length = max(len(ids) for ids in batch)
        padded = [[*[0] * (length - len(ids)), *ids] for ids in batch]
        return [Captured(ids, toy.planes(row)[:, -len(ids) :]) for ids, row in zip(batch, padded, strict=True)]

    runs = run(capture)
    np.testing.assert_array_equal(runs.batched[1].planes, runs.alone[1].planes)
    assert not np.allclose(runs.batched[0].planes, runs.alone[0].planes)


def test_states_left_over_from_earlier_calls_show_in_the_repetition(toy: Any) -> None:
    leftover: list[int] = []

    def capture(batch: Batch) -> list[Captured]:
        answers = [Captured(ids, toy.planes([*leftover, *ids])[:, -len(ids) :]) for ids in batch]
        leftover.extend(batch[-1])
        return answers

    runs = run(capture)
    assert not runs.problems
    assert not np.allclose(runs.repeated[0].planes, runs.alone[0].planes)
