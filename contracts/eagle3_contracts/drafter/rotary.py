"""Rotary positions: inverse frequencies of every kind of scaling, and both layouts of channel pairs.

Kinds and their parameters are transformers' (modeling_rope_utils.py, 5.19.0), computed in float32 as there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eagle3_contracts.contract.rope import Rope

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Rotation:
    """Cosine and sine of every pair's angle, [T, pairs], times the attention factor of the scaling."""

    cosine: Tensor
    sine: Tensor
    layout: str

    def apply(self, heads: Tensor) -> Tensor:
        """Rotate the first 2 x pairs channels of [..., T, channels]; what lies beyond them passes unchanged."""
        import torch

        cosine, sine = self.cosine.to(heads.dtype), self.sine.to(heads.dtype)
        turning, still = heads[..., : 2 * cosine.shape[-1]], heads[..., 2 * cosine.shape[-1] :]
        if self.layout == "half":
            first, second = turning.chunk(2, dim=-1)
            turned = torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)
        else:
            first, second = turning[..., 0::2], turning[..., 1::2]
            pairs = (first * cosine - second * sine, second * cosine + first * sine)
            turned = torch.stack(pairs, dim=-1).flatten(-2)
        return torch.cat((turned, still), dim=-1)


def make_rotation(rope: Rope, channels: int, positions: Tensor, max_position: int) -> Rotation:
    """Give the rotation of these positions, [T] or [axes, T] for a rope with sections.

    ``dynamic`` and ``longrope`` depend on the longest position that is rotated together, as in transformers: keys
    rotated earlier keep their angles. (SpecForge 0.2.0 fills a table of max_position + 20 rows at once, and so
    scales ``dynamic`` from the first token on: llama3_eagle.py, LlamaDynamicNTKScalingRotaryEmbedding.)
    """
    import torch

    inverse, factor = inverse_frequencies(rope, channels, int(positions.max()) + 1, max_position)
    if positions.ndim == 2:
        axes = _section_axes(rope, len(inverse)).to(positions.device)
        angles = positions.to(torch.float32)[axes].T * inverse
    else:
        angles = torch.outer(positions.to(torch.float32), inverse)
    return Rotation(angles.cos() * factor, angles.sin() * factor, rope.layout)


def inverse_frequencies(rope: Rope, channels: int, length: int, max_position: int) -> tuple[Tensor, float]:
    """Give one inverse frequency for each rotated pair, float32, and the factor on cosine and sine.

    ``channels``: of a head; ``partial_factor`` of them rotate, which must be an even number (``ValueError``).
    ``length``: of the sequence so far; ``max_position``: what the drafter was trained for.
    """
    turning = int(channels * rope.partial_factor)
    if turning % 2:
        raise ValueError(f"partial_factor {rope.partial_factor:g} of {channels} channels is {turning}, an odd number")
    inverse = _plain(rope.theta, turning)
    if rope.type == "linear":
        return inverse / _need(rope.factor), 1.0
    if rope.type == "dynamic":
        return _scale_dynamic(rope, turning, length, max_position), 1.0
    if rope.type == "llama3":
        return _scale_llama3(rope, inverse), 1.0
    if rope.type == "yarn":
        return _scale_yarn(rope, inverse, turning), _yarn_factor(rope)
    if rope.type == "longrope":
        return _scale_longrope(rope, inverse, length), _longrope_factor(rope, max_position)
    return inverse, 1.0


def latent_score_factor(rope: Rope) -> float:
    """Give the factor on MLA's attention scores: squared yarn scale of ``mscale_all_dim`` (DeepSeek)."""
    if rope.type != "yarn" or not rope.mscale_all_dim:
        return 1.0
    return _yarn_scale(_need(rope.factor), rope.mscale_all_dim) ** 2


def _plain(theta: float, turning: int) -> Tensor:
    import torch

    inverse: Tensor = 1.0 / (theta ** (torch.arange(0, turning, 2, dtype=torch.float32) / turning))
    return inverse


def _scale_dynamic(rope: Rope, turning: int, length: int, max_position: int) -> Tensor:
    if turning == 2:
        raise ValueError("a dynamic rope is not defined for two rotated channels")
    trained = rope.original_max_position or max_position
    factor = _need(rope.factor)
    longer = max(length, trained) / trained
    return _plain(rope.theta * (factor * longer - (factor - 1)) ** (turning / (turning - 2)), turning)


def _scale_llama3(rope: Rope, inverse: Tensor) -> Tensor:
    """Slow the low frequencies down by ``factor``, keep the high ones, blend in between (Llama 3.1)."""
    import torch

    turns = _need(rope.original_max_position) * inverse / (2 * torch.pi)
    low, high = _need(rope.low_freq_factor), _need(rope.high_freq_factor)
    blend = ((turns - low) / (high - low)).clamp(0, 1) if high != low else (turns >= low).to(inverse)
    return (1 - blend) * inverse / _need(rope.factor) + blend * inverse


def _scale_yarn(rope: Rope, inverse: Tensor, turning: int) -> Tensor:
    """Blend between slowed and plain frequencies along a ramp over the pairs (YaRN)."""
    import torch

    def pair_that_turns(times: float) -> float:
        return (
            turning * math.log(_need(rope.original_max_position) / (times * 2 * math.pi)) / (2 * math.log(rope.theta))
        )

    low, high = pair_that_turns(rope.beta_fast or 32.0), pair_that_turns(rope.beta_slow or 1.0)
    if rope.truncate is not False:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, turning - 1)
    ramp = (torch.arange(turning // 2, dtype=torch.float32) - low) / ((high - low) or 0.001)
    slowed = ramp.clamp(0, 1)
    return inverse / _need(rope.factor) * slowed + inverse * (1 - slowed)


def _yarn_scale(factor: float, weight: float = 1.0) -> float:
    return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0


def _yarn_factor(rope: Rope) -> float:
    if rope.attention_factor is not None:
        return rope.attention_factor
    factor = _need(rope.factor)
    if rope.mscale and rope.mscale_all_dim:
        return _yarn_scale(factor, rope.mscale) / _yarn_scale(factor, rope.mscale_all_dim)
    return _yarn_scale(factor)


def _scale_longrope(rope: Rope, inverse: Tensor, length: int) -> Tensor:
    import torch

    factors = rope.long_factor if length > _need(rope.original_max_position) else rope.short_factor
    assert factors is not None, "the contract demands both"  # noqa: S101 (for the type checker)
    if len(factors) != len(inverse):
        raise ValueError(f"longrope has {len(factors)} factors for {len(inverse)} rotated pairs")
    return inverse / torch.tensor(factors, dtype=torch.float32)


def _longrope_factor(rope: Rope, max_position: int) -> float:
    if rope.attention_factor is not None:
        return rope.attention_factor
    trained = _need(rope.original_max_position)
    factor = rope.factor or max_position / trained
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(trained))


def _section_axes(rope: Rope, pairs: int) -> Tensor:
    """Tell for each pair which axis of the positions turns it (Qwen2-VL; interleaved: Qwen3-VL)."""
    import torch

    sections = rope.mrope_section or (pairs,)
    if sum(sections) != pairs:
        raise ValueError(f"mrope_section {list(sections)} sums to {sum(sections)}, not to {pairs} rotated pairs")
    if not rope.mrope_interleaved:
        return torch.repeat_interleave(torch.arange(len(sections)), torch.tensor(sections))
    axes = torch.zeros(pairs, dtype=torch.long)
    for axis, size in enumerate(sections[1:], start=1):
        axes[axis : size * len(sections) : len(sections)] = axis
    return axes


def _need(value: float | None) -> float:
    """Give a parameter that the contract's own check has made sure of."""
    if value is None:
        raise ValueError("a parameter of the rope's type is missing, which the contract's own check refuses")
    return value
