"""Each verdict on a case made for it: drafters trained here, on the Kimi-like toy, and judged on what they learned."""

from __future__ import annotations

import dataclasses

import pytest
from torch import Tensor

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.diagnosis import DraftSample, DraftVerdict, diagnose
from eagle3_contracts.diagnosis.wiring import apply_wiring, declared_wiring
from support.toy_drafters import School, with_input

FED = (0, 3, 31)


def test_a_drafter_fed_as_it_was_trained_is_sound(school: School, sound: dict[str, Tensor]) -> None:
    found = diagnose(school.contract, sound, school.samples, school.target)
    assert found.verdict is DraftVerdict.SOUND
    assert not found.differences
    assert not found.fixes
    assert "look at the server" in found.reasons[0]
    assert "a figure that was chosen, since none was stated" in found.reasons[0]


def test_planes_in_another_order_are_wired_wrong(school: School, sound: dict[str, Tensor]) -> None:
    found = diagnose(with_input(school.contract, (31, 0, 3)), sound, school.samples, school.target)
    assert found.verdict is DraftVerdict.WIRED_WRONG
    assert found.found == "cat(embed, low, mid) = R[0], R[3], R[31]"
    assert [item.name for item in found.differences] == ["planes into fc"]


def test_a_boundary_that_no_document_names_is_found_slot_by_slot(school: School) -> None:
    """The drafter learned from boundaries 5 and 27, which the contract neither feeds nor stores."""
    found = diagnose(school.contract, school.train((0, 5, 27)), school.samples, school.target)
    assert found.verdict is DraftVerdict.WIRED_WRONG
    assert found.found == "cat(embed, R[5], R[27]) = R[0], R[5], R[27]"


@pytest.mark.parametrize(
    ("name", "value"), [("token", 0), ("d2t", "absolute"), ("residual", "post_norm"), ("layout", "interleaved")]
)
def test_what_is_read_otherwise_is_named_alone(
    school: School, sound: dict[str, Tensor], name: str, value: object
) -> None:
    """The contract states another reading than the one that the drafter was trained with."""
    contract = apply_wiring(school.contract, dataclasses.replace(declared_wiring(school.contract), **{name: value}))
    if name == "token":
        alignment = contract.alignment.model_copy(update={"token": (value,)})
        contract = contract.model_copy(update={"alignment": alignment})
    found = diagnose(contract, sound, school.samples, school.target)
    words = {"token": "token shift", "d2t": "reading of d2t", "residual": "residual", "layout": "rope layout"}
    assert found.verdict is DraftVerdict.WIRED_WRONG
    assert [item.name for item in found.differences] == [words[name]]
    assert found.fixes


def test_another_boundary_taken_for_the_final_state_is_wrong_targets(school: School) -> None:
    """What the story's trainer did: its last plane was boundary 59 of 61, and served as the verifier's last state."""
    weights = school.train(FED, logits=school.norm_at(59))
    found = diagnose(school.contract, weights, school.samples, school.target)
    assert found.verdict is DraftVerdict.WRONG_TARGETS
    (difference,) = found.differences
    assert difference.name == "training target"
    assert difference.found == "argmax head(final_norm(R[59]))"
    assert difference.declared == "argmax head(final_norm(R[61]))"
    (fix,) = found.fixes
    assert fix.startswith("train again on argmax head(final_norm(R[61])), not on argmax head(final_norm(R[59]))")


def test_a_final_norm_applied_twice_is_wrong_targets(school: School) -> None:
    weights = school.train(FED, logits=school.double_norm)
    found = diagnose(school.contract, weights, school.samples, school.target)
    assert found.verdict is DraftVerdict.WRONG_TARGETS
    assert [item.found for item in found.differences] == ["argmax head(final_norm(final_norm(R[61])))"]


def test_a_weak_drafter_that_is_wired_right_is_under_trained(school: School) -> None:
    found = diagnose(school.contract, school.train(FED, updates=50), school.samples, school.target)
    assert found.verdict is DraftVerdict.UNDER_TRAINED
    assert found.found == found.declared
    assert "correctly wired" in found.reasons[0]
    assert not found.differences


def test_under_trained_is_judged_by_the_accuracy_that_is_stated(school: School, sound: dict[str, Tensor]) -> None:
    found = diagnose(school.contract, sound, school.samples, school.target, expected_accuracy=0.97)
    assert found.verdict is DraftVerdict.UNDER_TRAINED
    assert "97.0% is expected (as stated)" in found.reasons[0]
    met = diagnose(school.contract, sound, school.samples, school.target, expected_accuracy=0.3)
    assert met.verdict is DraftVerdict.SOUND


def test_accuracy_that_is_low_by_chance_alone_is_no_verdict(school: School, sound: dict[str, Tensor]) -> None:
    reached = diagnose(school.contract, sound, school.samples, school.target).measured
    assert reached
    assert reached.against_target
    found = diagnose(
        school.contract, sound, school.samples, school.target, expected_accuracy=reached.against_target + 0.005
    )
    assert found.verdict is DraftVerdict.CANNOT_TELL
    assert "give more samples" in found.reasons[0]


def test_a_drafter_that_learned_nothing_cannot_be_told(school: School) -> None:
    found = diagnose(school.contract, school.train(FED, updates=0), school.samples, school.target)
    assert found.verdict is DraftVerdict.CANNOT_TELL
    assert "under no wiring that was tried" in found.reasons[0]
    assert not found.differences


def test_few_samples_or_rows_cannot_tell(school: School, sound: dict[str, Tensor]) -> None:
    few = diagnose(school.contract, sound, school.samples[:18], school.target)
    assert few.verdict is DraftVerdict.CANNOT_TELL
    assert "9 samples to confirm on are fewer than 10" in few.reasons[0]
    short = [
        DraftSample(item.token_ids[:20], {tap: plane[:20] for tap, plane in item.planes.items()})
        for item in school.samples
    ]
    found = diagnose(school.contract, sound, short, school.target)
    assert found.verdict is DraftVerdict.CANNOT_TELL
    assert "360 rows to confirm on are fewer than 500" in found.reasons[0]


def test_planes_that_are_not_at_hand_cannot_be_judged(school: School, sound: dict[str, Tensor]) -> None:
    lacking = [
        DraftSample(item.token_ids, {tap: plane for tap, plane in item.planes.items() if tap != Tap(31)})
        for item in school.samples
    ]
    found = diagnose(school.contract, sound, lacking, school.target)
    assert found.verdict is DraftVerdict.CANNOT_TELL
    assert "the samples lack R[31]" in found.reasons[0]


def test_the_stored_planes_alone_name_the_wiring_and_say_what_was_at_hand(
    school: School, sound: dict[str, Tensor]
) -> None:
    """The story's four planes, without the layers of the target: norm and head give what should be predicted."""
    final = Tap(61, "pre_norm")
    kept = (Tap(0), Tap(3), Tap(31), Tap(59), final)
    stored = [DraftSample(item.token_ids, {tap: item.planes[tap] for tap in kept}) for item in school.samples]
    found = diagnose(with_input(school.contract, (3, 31, 59)), sound, stored, school.target)
    assert found.verdict is DraftVerdict.WIRED_WRONG
    assert found.found == "cat(embed, low, mid) = R[0], R[3], R[31]"
    assert any("only these planes were at hand" in note for note in found.notes)


def test_a_diagnosis_is_the_same_when_made_again(school: School, sound: dict[str, Tensor]) -> None:
    once, again = (diagnose(school.contract, sound, school.samples, school.target).encode() for _ in range(2))
    assert once == again
