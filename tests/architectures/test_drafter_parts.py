"""Parts of the oracle that no trainer here exercises, against transformers' own: ropes, sinks, norms."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from torch import Tensor
from transformers.models.cohere import modeling_cohere as cohere
from transformers.models.gemma2 import modeling_gemma2 as gemma2
from transformers.models.gpt_oss import modeling_gpt_oss as gpt_oss
from transformers.models.llama import modeling_llama as llama
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3_vl

from eagle3_contracts.contract.rope import Rope
from eagle3_contracts.contract.target import Norm
from eagle3_contracts.drafter import ReferenceDrafter
from eagle3_contracts.drafter.attention import mix_values
from eagle3_contracts.drafter.front import find_visible
from eagle3_contracts.drafter.rotary import make_rotation
from eagle3_contracts.drafter.weights import apply_norm
from support.drafters import GQA, ROPES, drafter_contract, random_weights, rope_parameters

CHANNELS, TRAINED = 8, 128
YARNS: dict[str, dict[str, Any]] = {
    "yarn, plain": {"mscale": None, "mscale_all_dim": None},
    "yarn, its own factor": {"attention_factor": 1.7, "theta": 20.0, "beta_slow": 0.25},
    "yarn, not truncated": {"truncate": False, "beta_fast": 4.0, "theta": 20.0},
    "yarn, as Kimi has it": {"beta_fast": 1.0, "mscale_all_dim": 1.0, "factor": 64.0},
}
KINDS = ROPES | {name: ROPES["yarn"] | values for name, values in YARNS.items()}


def llama_config(rope: dict[str, Any], channels: int = CHANNELS, **more: Any) -> Any:
    parameters = rope_parameters(drafter_contract(rope=rope)) | more
    return transformers.LlamaConfig(
        hidden_size=32,
        num_attention_heads=4,
        head_dim=channels,
        max_position_embeddings=TRAINED,
        rope_parameters=parameters,
    )


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("length", [20, 100, 300])
def test_every_rope_turns_as_in_transformers(name: str, length: int) -> None:
    """Short, beyond a scaled rope's original 32, and beyond the 128 positions it was trained for."""
    real = llama.LlamaRotaryEmbedding(llama_config(KINDS[name]))
    cosine, sine = real(torch.zeros(1), torch.arange(length)[None])
    own = make_rotation(Rope.model_validate(KINDS[name]), CHANNELS, torch.arange(length), TRAINED)
    torch.testing.assert_close(own.cosine, cosine[0, :, : CHANNELS // 2], rtol=0, atol=1e-5)
    torch.testing.assert_close(own.sine, sine[0, :, : CHANNELS // 2], rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["linear", "llama3", "yarn"])
def test_a_share_of_the_channels_has_transformers_frequencies(kind: str) -> None:
    rope = ROPES[kind] | {"partial_factor": 0.5}
    cosine, _ = llama.LlamaRotaryEmbedding(llama_config(rope))(torch.zeros(1), torch.arange(50)[None])
    own = make_rotation(Rope.model_validate(rope), CHANNELS, torch.arange(50), TRAINED)
    assert own.cosine.shape[-1] == 2
    torch.testing.assert_close(own.cosine, cosine[0, :, :2], rtol=0, atol=1e-5)


def test_transformers_llama_forgets_the_share_where_nothing_is_scaled() -> None:
    """A drafter trained over it with rope_type default rotates every channel, whatever partial_rotary_factor says."""
    cosine, _ = llama.LlamaRotaryEmbedding(llama_config(ROPES["default"] | {"partial_factor": 0.5}))(
        torch.zeros(1), torch.arange(50)[None]
    )
    assert cosine.shape[-1] == CHANNELS


@pytest.mark.parametrize("interleaved", [False, True])
def test_sections_turn_by_their_own_axis(interleaved: bool) -> None:  # noqa: FBT001 (a parameter)
    sections, channels = [4, 2, 2], 16
    axes = torch.randint(0, 40, (3, 10), generator=torch.Generator().manual_seed(0))
    config = llama_config(ROPES["default"], channels, mrope_section=sections)
    rotary = qwen3_vl.Qwen3VLTextRotaryEmbedding if interleaved else qwen2_vl.Qwen2VLRotaryEmbedding
    cosine, sine = rotary(config)(torch.zeros(1), axes[:, None])
    heads = torch.randn(1, 4, 10, channels, generator=torch.Generator().manual_seed(1))
    real, _ = llama.apply_rotary_pos_emb(heads, heads, cosine, sine)
    rope = Rope.model_validate(ROPES["default"] | {"mrope_section": tuple(sections), "mrope_interleaved": interleaved})
    torch.testing.assert_close(make_rotation(rope, channels, axes, TRAINED).apply(heads), real, rtol=0, atol=1e-5)


@pytest.mark.parametrize("window", [None, 4])
def test_sinks_and_windows_are_those_of_gpt_oss(window: int | None) -> None:
    """The drafter's second layer reads one width, as gpt-oss' attention does."""
    attention = GQA | {"bias": True, "sinks": True} | ({} if window is None else {"sliding_window": window})
    contract = drafter_contract(attention=attention, layers=2)
    weights, prefix, length = random_weights(contract), "layers.1.self_attn.", 10
    oracle = ReferenceDrafter(contract, weights)
    config = transformers.GptOssConfig(
        hidden_size=32,
        num_attention_heads=attention["heads"],
        num_key_value_heads=attention["kv_heads"],
        head_dim=CHANNELS,
        attention_bias=True,
        rope_parameters={"rope_type": "default", "rope_theta": 5000.0},
    )
    config._attn_implementation = "eager"
    real = gpt_oss.GptOssAttention(config, 0).float().eval()
    own = {name.removeprefix(prefix): tensor for name, tensor in weights.items() if name.startswith(prefix)}
    real.load_state_dict(own, strict=True)
    state = torch.randn(length, 32, generator=torch.Generator().manual_seed(0))
    tables = gpt_oss.GptOssRotaryEmbedding(config)(state[None], torch.arange(length)[None])
    visible = find_visible(torch.arange(length), length, None, window)
    mask = torch.zeros(1, 1, length, length).masked_fill(~visible, float("-inf"))
    expected, _ = real(state[None], tables, mask)
    query, keys = oracle.attention.project(
        oracle.weights, prefix, state, oracle.attention.rotation(torch.arange(length))
    )
    mixed = mix_values(query, keys, visible, (), oracle.attention.scale, own["sinks"])
    torch.testing.assert_close(oracle.weights.project(f"{prefix}o_proj", mixed), expected[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("norm", "real"),
    [
        (Norm(eps=1e-5), llama.LlamaRMSNorm),
        (Norm(plus_one=True, eps=1e-5), gemma2.Gemma2RMSNorm),
        (Norm(kind="layer", eps=1e-5), cohere.CohereLayerNorm),
    ],
)
def test_norms_are_those_of_their_families(norm: Norm, real: Any, dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(0)
    state, weight = torch.randn(20, 32, generator=draw).to(dtype), torch.randn(32, generator=draw).to(dtype)
    module = real(32, eps=1e-5).to(dtype)
    module.weight.data = weight.clone()
    expected: Tensor = module(state).detach()
    tolerance = 1e-6 if dtype == torch.float32 else 0.0
    torch.testing.assert_close(apply_norm(norm, state, weight), expected, rtol=0, atol=tolerance)
