"""One answer of ``/generate``, believed only where every part is what it should be."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.evidence.server import Counters
from eagle3_contracts.subjects.servers.answers import read_answer, read_batch
from eagle3_contracts.subjects.servers.asking import Question
from eagle3_contracts.subjects.servers.failing import ServerProblemError

RECORDED = json.loads(Path(__file__).with_name("recorded_answers.json").read_text(encoding="utf-8"))["answers"]
PROMPT = tuple(RECORDED["eagle3"]["request"]["input_ids"])
Json = dict[str, Any]


def question() -> Question:
    return Question(PROMPT, 3, hidden_states=True, top=5)


def answer(asked: Question) -> Json:
    """Give the real answer to that question, with rows of the recorded shapes."""
    real: Json = copy.deepcopy(RECORDED["eagle3"]["answer"])
    real["meta_info"] |= {"id": asked.request_id, "hidden_states": [[[0.5] * 192] * 11, [0.25] * 192, [0.125] * 192]}
    return real


def test_a_real_answer_is_read() -> None:
    asked = question()
    read = read_answer(asked, answer(asked))
    assert (read.output_ids, read.finish, read.prompt_tokens, read.cached_tokens) == ((2, 3, 86), "length", 11, 0)
    assert read.counters == Counters(1, (0, 1), 3.0, 3)
    assert read.rows is not None
    assert read.rows.shape == (11, 192)
    assert read.later_rows is not None
    assert read.later_rows.shape == (2, 192)
    assert read.ragged == ""
    assert [item.position for item in read.logprobs] == list(range(13))
    assert [item.token_id for item in read.logprobs] == [*PROMPT[1:], 2, 3, 86]
    assert all(len(item.top_ids) == len(item.top_logprobs) == 5 for item in read.logprobs)
    assert read.logprobs[0].logprob == pytest.approx(-6.5277, abs=1e-3)


def meta(**changes: object) -> Callable[[Json], None]:
    return lambda given: given["meta_info"].update(changes)


MALFORMED: dict[str, Callable[[Json], None]] = {
    "no meta_info": lambda given: given.pop("meta_info"),
    "meta_info is a list": lambda given: given.update(meta_info=[]),
    "no output_ids": lambda given: given.pop("output_ids"),
    "output_ids is text": lambda given: given.update(output_ids="2 3 86"),
    "a token id is a fraction": lambda given: given.update(output_ids=[2, 3.5, 86]),
    "a token id is negative": lambda given: given.update(output_ids=[2, -3, 86]),
    "a token id is true": lambda given: given.update(output_ids=[2, True, 86]),
    "completion_tokens is another number": meta(completion_tokens=2),
    "prompt_tokens is text": meta(prompt_tokens="11"),
    "cached_tokens is negative": meta(cached_tokens=-1),
    "rounds is a fraction": meta(spec_verify_ct=1.5),
    "accept length is text": meta(spec_accept_length="3"),
    "accept length is infinite": meta(spec_accept_length=float("inf")),
    "the histogram is a number": meta(spec_correct_drafts_histogram=3),
    "the histogram holds a fraction": meta(spec_correct_drafts_histogram=[0.5]),
    "log-probabilities are a table": meta(input_token_logprobs={}),
    "a log-probability is text": meta(output_token_logprobs=[["-1", 2, None], [-1.0, 3, None], [-1.0, 86, None]]),
    "an entry is a number": meta(output_token_logprobs=[-1.0, -2.0, -3.0]),
    "top log-probabilities hold text": meta(output_top_logprobs=["a", "b", "c"]),
}
FOREIGN: dict[str, Callable[[Json], None]] = {
    "another id": meta(id="0" * 32),
    "another prompt's length": meta(prompt_tokens=12),
    "more tokens than were asked for": lambda given: given.update(output_ids=[2, 3, 86, 4]),
    "log-probabilities of other tokens": meta(output_token_logprobs=[[-1.0, 9, None]] * 3),
    "log-probabilities of another prompt": meta(input_token_logprobs=[[None, 5, None]] * 4),
}


@pytest.mark.parametrize("change", MALFORMED.values(), ids=MALFORMED)
def test_a_part_of_another_type_is_malformed(change: Callable[[Json], None]) -> None:
    assert refuse(change) == "malformed"


@pytest.mark.parametrize("change", FOREIGN.values(), ids=FOREIGN)
def test_an_answer_to_another_request_is_foreign(change: Callable[[Json], None]) -> None:
    assert refuse(change) == "foreign"


def refuse(change: Callable[[Json], None]) -> str:
    asked = question()
    given = answer(asked)
    change(given)
    with pytest.raises(ServerProblemError) as caught:
        read_answer(asked, given)
    assert caught.value.problem.reason.isprintable()
    return caught.value.problem.kind


def test_a_request_that_the_server_gave_up_is_a_problem_with_its_words() -> None:
    asked = question()
    given = answer(asked)
    given["meta_info"]["finish_reason"] = {"type": "abort", "message": "out of\nmemory \x1b[0m"}
    with pytest.raises(ServerProblemError, match='gave the request up: "out of memory'):
        read_answer(asked, given)


def test_what_an_older_release_leaves_out_is_none() -> None:
    asked = question()
    given = answer(asked)
    histogram = given["meta_info"].pop("spec_correct_drafts_histogram")
    given["meta_info"]["spec_accept_histogram"] = histogram
    for name in ("id", "cached_tokens", "prompt_tokens", "hidden_states"):
        given["meta_info"].pop(name)
    read = read_answer(asked, given)
    assert read.counters is not None
    assert read.counters.accepted == tuple(histogram)
    assert (read.prompt_tokens, read.cached_tokens, read.rows, read.ragged) == (None, None, None, "")


def test_log_probabilities_that_are_null_stay_unknown() -> None:
    asked = question()
    given = answer(asked)
    given["meta_info"]["output_token_logprobs"][1][0] = None
    given["meta_info"]["output_top_logprobs"][1] = None
    read = read_answer(asked, given)
    assert (read.logprobs[11].logprob, read.logprobs[11].top_ids) == (None, ())


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("text", "no list but str"),
        ([7], "no list but int"),
        ([[]], "empty"),
        ([[1.0, 2.0]], "no list of rows"),
        ([[[1.0], None]], "no list of rows"),
        ([[[1.0], [1.0, 2.0]]], "several widths: 1, 2"),
        ([[["1.5"]]], "no numbers: str"),
        ([[[True]]], "no numbers: bool"),
        ([[[[1.0]]]], "no numbers: list"),
        ([[[1e39]]], "range of float32"),
        ([[[float("inf")]]], "range of float32"),
        ([[[10**400]]], "range of float64"),
        ([[[1.0]], "text"], "rows of generated tokens"),
    ],
)
def test_rows_that_are_no_table_are_told_in_words_and_not_believed(rows: object, words: str) -> None:
    asked = question()
    given = answer(asked)
    given["meta_info"]["hidden_states"] = rows
    read = read_answer(asked, given)
    assert words in read.ragged
    assert read.rows is None or read.later_rows is None


def test_a_null_in_a_row_is_not_a_number() -> None:
    asked = question()
    given = answer(asked)
    given["meta_info"]["hidden_states"] = [[[None, 1.0]], [2.0, 3.0]]
    rows = read_answer(asked, given).rows
    assert rows is not None
    np.testing.assert_array_equal(rows, np.array([[np.nan, 1.0]], np.float32))


def test_a_batch_has_as_many_answers_as_requests() -> None:
    asked = question()
    assert len(read_batch((asked, asked), [answer(asked), answer(asked)])) == 2
    for given, kind in (([answer(asked)], "foreign"), (answer(asked), "malformed"), ([1, 2], "malformed")):
        with pytest.raises(ServerProblemError) as caught:
            read_batch((asked, asked), given)
        assert caught.value.problem.kind == kind
