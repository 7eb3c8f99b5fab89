"""Drafters and samples that no wiring can mend: said at once, by the tensor, and never as a verdict on the wiring."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.diagnosis import DraftSample, DraftVerdict, diagnose
from support.toy_drafters import School


def _spoil(tensor: Tensor) -> Tensor:
    tensor = tensor.clone()
    tensor.view(-1)[3] = float("nan")
    return tensor


BROKEN: dict[str, tuple[str, Callable[[Tensor], Tensor], str]] = {
    "one NaN": ("fc.weight", _spoil, "fc.weight holds 1 of 12,288 values as NaN or infinite"),
    "infinite": ("norm.weight", lambda tensor: tensor / 0, "norm.weight holds 64 of 64 values as NaN"),
    "huge d2t": ("d2t", lambda tensor: torch.full_like(tensor, 1 << 62), "d2t leads to 0 tokens of the target"),
    "negative d2t": ("d2t", lambda tensor: -tensor - 500, "d2t leads to 0 tokens of the target"),
    "one token": ("d2t", lambda tensor: -torch.arange(len(tensor)), "d2t leads to 1 tokens of the target"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_tensor_is_named_and_nothing_is_said_of_the_wiring(
    name: str, school: School, sound: dict[str, Tensor]
) -> None:
    tensor, spoil, told = BROKEN[name]
    found = diagnose(school.contract, {**sound, tensor: spoil(sound[tensor])}, school.samples, school.target)
    assert found.verdict is DraftVerdict.CANNOT_TELL
    assert told in found.reasons[0]
    assert "checkpoint." in found.reasons[0]
    assert not found.differences
    json.dumps(found.encode(), allow_nan=False)


def _blacken(sample: DraftSample) -> DraftSample:
    return DraftSample(sample.token_ids, {**sample.planes, Tap(3): np.full_like(sample.planes[Tap(3)], np.nan)})


def test_samples_that_are_not_finite_are_left_out_and_counted(school: School, sound: dict[str, Tensor]) -> None:
    spoiled = [*map(_blacken, school.samples[:3]), *school.samples[3:]]
    found = diagnose(school.contract, sound, spoiled, school.target)
    assert found.verdict is DraftVerdict.SOUND
    assert found.samples == len(school.samples) - 3
    assert any(note.startswith("3 of 40 samples, with NaN") for note in found.notes)


def test_samples_of_which_none_is_finite_cannot_tell(school: School, sound: dict[str, Tensor]) -> None:
    found = diagnose(school.contract, sound, list(map(_blacken, school.samples)), school.target)
    assert found.verdict is DraftVerdict.CANNOT_TELL
    assert "dataset.finite" in found.reasons[0]
