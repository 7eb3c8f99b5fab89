"""Rows with graphs against rows without: what is compared, and what a difference comes to. No server runs here."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence.server import ServedAnswer, ServedProbe, ServerArguments, ServerEvidence
from support.gpu.replay import compare_replay

PROMPT, OUTPUT = (5, 6, 7, 8), (9, 10, 11, 12, 13)
PLANES, WIDTH = 3, 64


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract(CONTRACT)


@pytest.fixture
def served() -> ServerEvidence:
    """Evidence of one probe: rows of the prompt, and of every generated token but the last."""
    generator = np.random.default_rng(0)
    rows, later = (
        generator.standard_normal((count, PLANES * WIDTH), dtype=np.float32) for count in (len(PROMPT), len(OUTPUT) - 1)
    )
    answer = ServedAnswer(PROMPT, OUTPUT, rows=rows, later_rows=later)
    arguments = ServerArguments({}, dtype="bfloat16")
    return ServerEvidence("made up", arguments=arguments, probes=(ServedProbe(PROMPT, alone=answer),))


def change(served: ServerEvidence, **parts: object) -> ServerEvidence:
    (probe,) = served.probes
    assert probe.alone is not None
    return replace(served, probes=(replace(probe, alone=replace(probe.alone, **parts)),))  # type: ignore[arg-type]


def alone(served: ServerEvidence) -> tuple[np.ndarray, np.ndarray]:
    answer = served.probes[0].alone
    assert answer is not None
    assert answer.rows is not None
    assert answer.later_rows is not None
    return answer.rows, answer.later_rows


def test_equal_rows_are_no_distance_apart(served: ServerEvidence, contract: Contract) -> None:
    found = compare_replay(contract, "a", served, "b", served)
    assert (found.prompt_rows, found.later_rows) == (4 * PLANES, 4 * PLANES)
    assert (found.prompt_median, found.later_median) == (0.0, 0.0)
    assert found.bound == contract.tolerance["bfloat16"].relative_l2_median


def test_a_replay_of_old_states_is_seen_in_later_rows_alone(served: ServerEvidence, contract: Contract) -> None:
    """A graph that reads a buffer of the request before gives the rows of other tokens."""
    _, later = alone(served)
    found = compare_replay(contract, "a", served, "b", change(served, later_rows=np.roll(later, 1, axis=0)))
    assert found.prompt_median == 0.0
    assert found.later_median > found.bound


def test_rows_after_the_texts_part_are_not_compared(served: ServerEvidence, contract: Contract) -> None:
    _, later = alone(served)
    changed = later.copy()
    changed[2:] += 10
    found = compare_replay(contract, "a", served, "b", change(served, output_ids=(9, 10, 1, 1, 1), later_rows=changed))
    assert found.later_rows == 2 * PLANES
    assert found.later_median == 0.0


def test_rows_that_are_missing_or_no_numbers_pass_nothing(served: ServerEvidence, contract: Contract) -> None:
    rows, later = alone(served)
    assert compare_replay(contract, "a", served, "b", change(served, later_rows=None)).later_rows == 0
    fewer = compare_replay(contract, "a", served, "b", change(served, rows=rows[:-1]))
    assert fewer.prompt_median > fewer.bound
    nothing = compare_replay(contract, "a", served, "b", change(served, later_rows=np.full_like(later, np.nan)))
    assert nothing.later_median > nothing.bound
