"""A drafter that was trained for a few steps, by the recipe of the recorded one, violates no must: it is only weak."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import ReferenceDrafter
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.faults.injecting.checkpoints import prepare_export
from eagle3_contracts.faults.injecting.exports import export_drafter
from eagle3_contracts.recording.drafting import DraftRecipe, Lesson, drafting_loss, train_drafter
from eagle3_contracts.recording.language import BEGIN, END, Language
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.targets import open_target
from support.museum.exhibits import judge_subject
from support.museum.good import assert_good

TEXTS, LENGTH = 6, 40
UNIFORM = 160
"""Tokens of the draft vocabulary: what a drafter that knows nothing chooses among."""

School = tuple[list[Lesson], torch.Tensor]


@pytest.fixture(scope="module")
def school(contract: Contract) -> School:
    """Give lessons of the embedded target on texts of its own language, and its embedding."""
    target = open_target(str(embedded_target()), contract)
    language, draw = Language(1), random.Random(5)  # noqa: S311 (a language, no secret)
    lessons = []
    for _ in range(TEXTS):
        states = target.reference(tuple(language.sequence(LENGTH, draw)[0]))
        planes = np.concatenate([states.boundaries[plane.boundary] for plane in contract.input_planes()], axis=-1)
        logits = np.asarray(states.logits, np.float32)
        lessons.append(Lesson(torch.as_tensor(states.token_ids), torch.from_numpy(planes), torch.from_numpy(logits)))
    return lessons, torch.from_numpy(target.embedding_rows(range(contract.target.vocab_size)))


def train(contract: Contract, school: School, updates: int) -> dict[str, torch.Tensor]:
    recipe = DraftRecipe(updates=updates, batch=2, rate=8e-3, warmup=2)
    return train_drafter(contract, school[0], recipe, school[1], pinned=(BEGIN, END))


def loss(contract: Contract, school: School, weights: dict[str, torch.Tensor]) -> float:
    with torch.no_grad():
        return drafting_loss(ReferenceDrafter(contract, weights), school[0], DraftRecipe(steps=1)).item()


@pytest.mark.parametrize("updates", [1, 8])
def test_a_drafter_of_a_few_updates_violates_no_must(
    updates: int, contract: Contract, school: School, tmp_path: Path
) -> None:
    declared, _ = prepare_export(contract, tmp_path, "specforge")
    export = export_drafter(declared, train(contract, school, updates), tmp_path, "specforge")
    found = judge_subject(declared, Subject("checkpoint", str(export.write()), "weak"))
    assert_good(found, "checkpoint.fresh-tensors", "checkpoint.dead-tensors", "checkpoint.draft-vocabulary")


def test_it_has_learned_something_and_is_weak(contract: Contract, school: School) -> None:
    """Else it would be no trained drafter, or no weak one."""
    first, later = (loss(contract, school, train(contract, school, updates)) for updates in (1, 8))
    assert later < first
    assert later > np.log(UNIFORM) / 2, "half of what a drafter that knows nothing loses, in nats"
