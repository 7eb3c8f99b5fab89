"""Rotary positions: layouts, shares of the channels, sections, and the limits of scaling."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from eagle3_contracts.contract.rope import Rope
from eagle3_contracts.drafter.rotary import inverse_frequencies, latent_score_factor, make_rotation
from support.drafters import ROPES


def make_rope(**values: Any) -> Rope:
    return Rope.model_validate({"theta": 5000.0} | values)


def test_a_pair_turns_by_its_frequency() -> None:
    heads = torch.zeros(1, 3, 4)
    heads[..., 0] = 1
    turned = make_rotation(make_rope(), 4, torch.tensor([0, 1, 2]), 128).apply(heads)[0]
    angle = torch.tensor([0.0, 1.0, 2.0])
    torch.testing.assert_close(turned, torch.stack((angle.cos(), 0 * angle, angle.sin(), 0 * angle), dim=-1))


def test_the_layouts_pair_other_channels_and_turn_alike() -> None:
    heads, positions = torch.randn(2, 5, 8), torch.arange(5)
    half = make_rotation(make_rope(), 8, positions, 128).apply(heads)
    interleaved = make_rotation(make_rope(layout="interleaved"), 8, positions, 128)
    order = torch.tensor([0, 4, 1, 5, 2, 6, 3, 7])
    torch.testing.assert_close(interleaved.apply(heads[..., order]), half[..., order])


def test_a_share_of_the_channels_passes_unchanged() -> None:
    heads, positions = torch.randn(2, 5, 8), torch.arange(1, 6)
    turned = make_rotation(make_rope(partial_factor=0.5), 8, positions, 128).apply(heads)
    assert torch.equal(turned[..., 4:], heads[..., 4:])
    torch.testing.assert_close(turned[..., :4], make_rotation(make_rope(), 4, positions, 128).apply(heads[..., :4]))


@pytest.mark.parametrize("interleaved", [False, True])
def test_sections_of_equal_positions_are_a_plain_rope(interleaved: bool) -> None:  # noqa: FBT001 (a parameter)
    rope = make_rope(mrope_section=(2, 1, 1), mrope_interleaved=interleaved)
    heads, positions = torch.randn(2, 5, 8), torch.arange(5)
    sectioned = make_rotation(rope, 8, positions.expand(3, -1), 128).apply(heads)
    torch.testing.assert_close(sectioned, make_rotation(make_rope(), 8, positions, 128).apply(heads))


def test_longer_sequences_use_longrope_s_other_factors() -> None:
    rope = make_rope(**ROPES["longrope"])
    short, factor = inverse_frequencies(rope, 8, 32, 128)
    long, same = inverse_frequencies(rope, 8, 33, 128)
    torch.testing.assert_close(short / long, torch.tensor([2.0, 3.0 / 1.1, 4.0 / 1.2, 5.0 / 1.3]))
    assert factor == same > 1


def test_a_dynamic_rope_is_plain_until_the_trained_length() -> None:
    rope = make_rope(**ROPES["dynamic"])
    plain, _ = inverse_frequencies(make_rope(), 8, 1, 128)
    assert torch.equal(inverse_frequencies(rope, 8, 128, 128)[0], plain)
    assert not torch.equal(inverse_frequencies(rope, 8, 129, 128)[0], plain)


def test_only_yarn_with_mscale_all_dim_scales_the_scores_of_latents() -> None:
    assert latent_score_factor(make_rope()) == latent_score_factor(make_rope(type="linear", factor=4.0)) == 1
    assert latent_score_factor(make_rope(**ROPES["yarn"] | {"mscale_all_dim": None})) == 1
    assert latent_score_factor(make_rope(**ROPES["yarn"])) > 1


@pytest.mark.parametrize(
    ("values", "channels", "message"),
    [
        ({"partial_factor": 0.4}, 8, "partial_factor 0.4 of 8 channels is 3, an odd number"),
        (ROPES["longrope"], 12, "4 factors for 6 rotated pairs"),
        (ROPES["dynamic"], 2, "not defined for two rotated channels"),
        ({"mrope_section": (2, 2, 2)}, 8, "sums to 6, not to 4"),
    ],
)
def test_a_rope_that_does_not_fit_the_heads_is_refused(values: dict[str, Any], channels: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_rotation(make_rope(**values), channels, torch.arange(5).expand(3, -1), 128)
