"""Accuracy per step, by name, and agreement with the recording, which sees what accuracy hardly does."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
import torch

from eagle3_contracts.accuracy import Passage, compare_with_recorded, measure_steps, passage_from_states
from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.wiring import apply_wiring, declared_wiring
from eagle3_contracts.drafter import ReferenceDrafter
from eagle3_contracts.evidence.drafts import RecordedDrafts
from eagle3_contracts.recording.sequences import dataset_samples
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.goldens import Golden
from eagle3_contracts.subjects.targets import Target
from support.toy_drafters import with_input


def recorded(golden: Golden) -> tuple[list[int], list[RecordedDrafts]]:
    numbers = [at for at, item in enumerate(golden.manifest["sequences"]) if item["length"] > 1]
    return numbers, [golden.drafts(number) for number in numbers]


def agree(golden: Golden, drafter: ReferenceDrafter) -> tuple[float, ...]:
    numbers, drafts = recorded(golden)
    passages = [passage_from_states(drafter.contract, golden.states(number)) for number in numbers]
    return compare_with_recorded(drafter, passages, drafts).drafted


def test_the_embedded_drafter_is_as_accurate_on_other_text_as_its_provenance_says(
    golden: Golden, contract: Contract, target: Target, drafter: ReferenceDrafter
) -> None:
    passages = [passage_from_states(contract, target.reference(ids)) for ids, _ in dataset_samples()]
    steps = measure_steps(drafter, passages, 3)
    stated = golden.manifest["drafter"]["measured"]["bfloat16_weights"]["accuracy_against_target"]
    for found, expected in zip(steps, stated[:3], strict=True):
        assert found.against_target == pytest.approx(expected, abs=0.05)
        assert found.against_text < found.against_target
        assert found.covered is not None
        assert found.covered > 0.97


def test_accuracies_are_counted_as_they_are_called(drafter: ReferenceDrafter, written: list[Passage]) -> None:
    passage = written[0]
    ids = drafter.target_ids()
    with torch.inference_mode():
        done = drafter.forward(passage.fc_input[:-1], passage.tokens[1:], steps=2)
    for step, found in enumerate(measure_steps(drafter, [passage], 2)):
        drafted = ids[done[step].logits.argmax(-1)].tolist()
        choices, text = passage.choices.tolist(), passage.tokens.tolist()  # type: ignore[union-attr]
        right = [drafted[row] == choices[row + 1 + step] for row in range(len(text) - 1 - step)]
        assert found.rows == len(right)
        assert found.against_target == pytest.approx(np.mean(right))
        told = [drafted[row] == text[row + 2 + step] for row in range(len(text) - 2 - step)]
        assert found.against_text == pytest.approx(np.mean(told))


def test_without_the_targets_choices_only_the_text_is_measured(
    drafter: ReferenceDrafter, written: list[Passage]
) -> None:
    (found,) = measure_steps(drafter, [Passage(written[0].tokens, written[0].fc_input)], 1)
    assert (found.against_target, found.log_likelihood, found.covered) == (None, None, None)
    assert found.against_text > 0.5


def test_too_short_a_passage_is_an_error(drafter: ReferenceDrafter, written: list[Passage]) -> None:
    with pytest.raises(ValueError, match="no passage has more than"):
        measure_steps(drafter, [Passage(written[0].tokens[:4], written[0].fc_input[:4])], 5)


def test_the_stored_drafter_drafts_what_is_recorded(golden: Golden, drafter: ReferenceDrafter) -> None:
    numbers, drafts = recorded(golden)
    passages = [passage_from_states(drafter.contract, golden.states(number)) for number in numbers]
    found = compare_with_recorded(drafter, passages, drafts)
    assert found.rows == sum(len(item.drafted) for item in drafts) > 200
    assert min(found.drafted) > 0.995
    assert max(found.logprob_max) < 1e-3


def test_computing_in_bfloat16_hardly_changes_what_is_drafted(golden: Golden, contract: Contract) -> None:
    assert golden.drafter
    weights = read_drafter(golden.drafter, contract, golden.target)
    assert np.mean(agree(golden, ReferenceDrafter(contract, weights, torch.bfloat16))) > 0.97


@pytest.mark.parametrize("fed", [(0, 2, 4), (2, 4, 6), (1, 4, 5), (2, 5, 4), (3, 5, 6)])
def test_other_planes_draft_other_tokens(golden: Golden, contract: Contract, fed: tuple[int, ...]) -> None:
    assert golden.drafter
    weights = read_drafter(golden.drafter, contract, golden.target)
    assert np.mean(agree(golden, ReferenceDrafter(with_input(contract, fed), weights))) < 0.93


@pytest.mark.parametrize(
    ("name", "value"),
    [("theta", 1e4), ("theta", 5e5), ("residual", "post_norm"), ("recurrent", "post_norm"), ("head_norm", False)],
)
def test_other_readings_draft_other_tokens(golden: Golden, contract: Contract, name: str, value: object) -> None:
    assert golden.drafter
    weights = read_drafter(golden.drafter, contract, golden.target)
    other = apply_wiring(contract, dataclasses.replace(declared_wiring(contract), **{name: value}))
    assert np.mean(agree(golden, ReferenceDrafter(other, weights))) < 0.93


def test_a_sequence_of_one_token_drafts_nothing(golden: Golden) -> None:
    (single,) = [at for at, item in enumerate(golden.manifest["sequences"]) if item["length"] == 1]
    with pytest.raises(KeyError, match="single token"):
        golden.drafts(single)


def test_the_manifest_says_how_the_drafter_was_made(golden: Golden) -> None:
    assert golden.drafter
    assert golden.manifest["drafter"] == json.loads((golden.drafter / "provenance.json").read_text())
    assert "drafter_training --seed 1 --updates 2000" in golden.manifest["drafter"]["command"]
