"""The story's question, answered: a drafter trained on cat(embed, low, mid) and fed cat(low, mid, high), and reverse.

Drafters are trained here, on the CPU, with the reference drafter. As in the story (34.1 % against 76.9 % "on training
data") they are judged on the samples that they were trained on. The Kimi-like toy has random weights in Llama's
shape: accuracy falls from 74 to 79 % to 2 to 4 %. The embedded default is a trained target, whose language the
embedding alone predicts to a good part, so that the story's collapse is not shown there: accuracy falls from 96 or
97 % to 80 to 85 %, and the recorded drafter's, fed cat(embed, low, mid), from 94.5 % to 84.0 % (``measure.py``).
"""

from __future__ import annotations

import re
import time

import pytest

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.diagnosis import Diagnosis, DraftVerdict, diagnose
from eagle3_contracts.drafter import ReferenceDrafter
from eagle3_contracts.embedded import NAME, VERSION
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.goldens import open_golden
from support.toy_drafters import School, with_input

SECONDS = 30
"""The time that a diagnosis may take, counted as work of the processor, since tests share theirs."""
SEEDS = (0, 1, 2)


def boundaries(found: Diagnosis) -> tuple[str, str]:
    """Give the boundaries fed as declared and as found, which stand behind the names."""
    return found.declared.partition(" = ")[2], found.found.partition(" = ")[2]


def say(taps: tuple[int, ...]) -> str:
    return ", ".join(str(Tap(boundary)) for boundary in taps)


def judge(school: School, weights: dict, fed: tuple[int, ...]) -> Diagnosis:
    started = time.process_time()
    found = diagnose(with_input(school.contract, fed), weights, school.samples, school.target)
    assert time.process_time() - started < SECONDS
    return found


def assert_names(found: Diagnosis, trained: tuple[int, ...], fed: tuple[int, ...]) -> None:
    assert found.verdict is DraftVerdict.WIRED_WRONG
    assert boundaries(found) == (say(fed), say(trained))
    assert [item.name for item in found.differences] == ["planes into fc"]
    assert found.positions >= 500


@pytest.mark.parametrize(
    ("trained", "fed"), [((0, 3, 31), (3, 31, 59)), ((3, 31, 59), (0, 3, 31))], ids=["as-in-the-story", "reverse"]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_wiring_of_the_kimi_like_toy_is_named(
    kimi_school: School, seed: int, trained: tuple[int, ...], fed: tuple[int, ...]
) -> None:
    found = judge(kimi_school, kimi_school.train(trained, seed=seed), fed)
    assert_names(found, trained, fed)
    assert found.measured
    assert found.measured_as_found
    assert found.measured.against_target < 0.1
    assert found.measured_as_found.against_target > 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_the_wiring_of_a_drafter_of_the_embedded_target_is_named(embedded_school: School, seed: int) -> None:
    found = judge(embedded_school, embedded_school.train((0, 2, 4), seed=seed), (2, 4, 5))
    assert_names(found, (0, 2, 4), (2, 4, 5))
    assert found.measured
    assert found.measured_as_found
    assert found.measured_as_found.against_target - found.measured.against_target > 0.1


def test_the_embedded_drafter_is_sound_as_declared_and_named_when_fed_otherwise(embedded_school: School) -> None:
    golden = open_golden(NAME, VERSION)
    assert golden.drafter
    weights = read_drafter(golden.drafter, embedded_school.contract, golden.target)
    assert judge(embedded_school, weights, (2, 4, 5)).verdict is DraftVerdict.SOUND
    found = judge(embedded_school, weights, (0, 2, 4))
    assert_names(found, (2, 4, 5), (0, 2, 4))
    assert found.measured
    assert found.measured_as_found
    assert found.measured.against_target == pytest.approx(0.84, abs=0.02)
    assert found.measured_as_found.against_target == pytest.approx(0.945, abs=0.02)


def test_a_plane_that_is_off_by_one_is_told_with_how_sure_it_is_and_what_decides(
    kimi_school: School, embedded_school: School
) -> None:
    """By heart, one boundary matters; a drafter that generalises hardly feels it, and nothing is claimed then."""
    sure = judge(kimi_school, kimi_school.train((0, 3, 31)), (0, 3, 30))
    assert_names(sure, (0, 3, 31), (0, 3, 30))
    assert re.search(r"better in (1[7-9]|20) of 20 samples \(chance", sure.reasons[1])
    assert "is decided on tensors: capture.boundary, dataset.boundary" in sure.reasons[-1]

    golden = open_golden(NAME, VERSION)
    assert golden.drafter
    weights = read_drafter(golden.drafter, embedded_school.contract, golden.target)
    ReferenceDrafter(embedded_school.contract, weights)
    unsure = judge(embedded_school, weights, (2, 4, 6))
    assert unsure.verdict is DraftVerdict.SOUND
    near = {item.value.partition(" = ")[2]: item for item in unsure.neighbours if item.name == "planes into fc"}
    assert "R[2], R[4], R[5]" in near
    assert "of 24 samples (chance 0." in near["R[2], R[4], R[5]"].sure
    assert unsure.reasons[-1].endswith("is decided on tensors: capture.boundary, dataset.boundary")
