"""Attention of drafters: grouped-query and multi-head latent, over keys that rows share and keys of a row's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from eagle3_contracts.contract.drafter import GqaAttention, MlaAttention
from eagle3_contracts.contract.rope import Rope
from eagle3_contracts.drafter.rotary import Rotation, latent_score_factor, make_rotation
from eagle3_contracts.drafter.weights import DrafterWeights

if TYPE_CHECKING:
    from torch import Tensor


class KeyValue(NamedTuple):
    """Keys [kv heads, T, channels], rotated, and values [kv heads, T, channels]."""

    key: Tensor
    value: Tensor


@dataclass(frozen=True, slots=True)
class DraftAttention:
    """The attention that a contract describes, for any of the drafter's layers.

    MLA is computed in its expanded form: every head has its own keys and values. Its two inner norms use the
    drafter's eps, as engines do; transformers' DeepSeek code has 1e-6 there, whatever the config says.
    """

    kind: GqaAttention | MlaAttention
    rope: Rope
    max_position: int

    @property
    def scale(self) -> float:
        """Give what scores are multiplied with."""
        if isinstance(self.kind, GqaAttention):
            return float(self.kind.head_dim**-0.5)
        channels = self.kind.qk_nope_head_dim + self.kind.qk_rope_head_dim
        return float(channels**-0.5 * latent_score_factor(self.rope))

    @property
    def window(self) -> int | None:
        """Give how many tokens attention reaches back, its own included."""
        return self.kind.sliding_window if isinstance(self.kind, GqaAttention) else None

    def rotation(self, positions: Tensor) -> Rotation:
        """Give the rotation of these positions."""
        turning = self.kind.head_dim if isinstance(self.kind, GqaAttention) else self.kind.qk_rope_head_dim
        return make_rotation(self.rope, turning, positions, self.max_position)

    def project(
        self, weights: DrafterWeights, prefix: str, state: Tensor, rotation: Rotation
    ) -> tuple[Tensor, KeyValue]:
        """Give queries [heads, T, channels], keys and values of [T, width]."""
        if isinstance(self.kind, GqaAttention):
            return _project_gqa(self.kind, weights, prefix, state, rotation)
        return _project_mla(self.kind, weights, prefix, state, rotation)


def mix_values(
    query: Tensor,
    shared: KeyValue,
    visible: Tensor,
    trail: Sequence[KeyValue],
    scale: float,
    sinks: Tensor | None,
) -> Tensor:
    """Attend and give [R, heads x channels].

    ``query`` [heads, R, channels]. ``shared``: keys of T rows, of which row r sees ``visible`` [R, T]. ``trail``:
    keys of earlier steps and this one, one for each row, which it alone sees. ``sinks`` [heads]: a score that takes
    its share and gives no value.
    """
    import torch

    groups, (rows, count) = len(shared.key), visible.shape
    query = query.view(groups, -1, rows, query.shape[-1])
    scores = torch.einsum("kgrc,ktc->kgrt", query, shared.key) * scale
    parts = [scores.masked_fill(~visible, float("-inf"))]
    parts += [torch.einsum("kgrc,krc->kgr", query, own.key)[..., None] * scale for own in trail]
    if sinks is not None:
        parts.append(sinks.view(groups, -1, 1, 1).expand(-1, -1, rows, 1))
    joined = torch.cat(parts, dim=-1)
    shares = joined.to(torch.promote_types(joined.dtype, torch.float32)).softmax(-1).to(query.dtype)
    mixed = torch.einsum("kgrt,ktc->kgrc", shares[..., :count], shared.value)
    for index, own in enumerate(trail):
        mixed = mixed + shares[..., count + index, None] * own.value[:, None]
    return mixed.flatten(0, 1).transpose(0, 1).flatten(1)


def _project_gqa(
    kind: GqaAttention, weights: DrafterWeights, prefix: str, state: Tensor, rotation: Rotation
) -> tuple[Tensor, KeyValue]:
    query, key, value = (
        weights.project(f"{prefix}{name}_proj", state).view(len(state), -1, kind.head_dim).transpose(0, 1)
        for name in ("q", "k", "v")
    )
    if kind.qk_norm:
        query, key = weights.normalise(f"{prefix}q_norm", query), weights.normalise(f"{prefix}k_norm", key)
    return rotation.apply(query), KeyValue(rotation.apply(key), value)


def _project_mla(
    kind: MlaAttention, weights: DrafterWeights, prefix: str, state: Tensor, rotation: Rotation
) -> tuple[Tensor, KeyValue]:
    import torch

    if kind.q_lora_rank is None:
        query = weights.project(f"{prefix}q_proj", state)
    else:
        narrow = weights.normalise(f"{prefix}q_a_layernorm", weights.project(f"{prefix}q_a_proj", state))
        query = weights.project(f"{prefix}q_b_proj", narrow)
    query = query.view(len(state), kind.heads, -1).transpose(0, 1)
    plain, turning = query[..., : kind.qk_nope_head_dim], query[..., kind.qk_nope_head_dim :]
    query = torch.cat((plain, rotation.apply(turning)), dim=-1)
    compressed = weights.project(f"{prefix}kv_a_proj_with_mqa", state)
    latent, shared = compressed[:, : kind.kv_lora_rank], compressed[:, kind.kv_lora_rank :]
    wide = weights.project(f"{prefix}kv_b_proj", weights.normalise(f"{prefix}kv_a_layernorm", latent))
    wide = wide.view(len(state), kind.heads, -1).transpose(0, 1)
    key, value = wide[..., : kind.qk_nope_head_dim], wide[..., kind.qk_nope_head_dim :]
    key = torch.cat((key, rotation.apply(shared[None]).expand(kind.heads, -1, -1)), dim=-1)
    return query, KeyValue(key, value)
