"""Tiny models with random weights, one for each kind of decoder, saved as folders, with a contract for each."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from eagle3_contracts.contract import Contract

HIDDEN, LAYERS, VOCAB = 32, 7, 96
SIZES: dict[str, Any] = {
    "hidden_size": HIDDEN,
    "intermediate_size": 48,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": VOCAB,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def _llama(transformers: Any) -> Any:
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES, tie_word_embeddings=False))


def _qwen3(transformers: Any) -> Any:
    return transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**SIZES, tie_word_embeddings=True))


def _granite(transformers: Any) -> Any:
    sizes = {name: value for name, value in SIZES.items() if name != "head_dim"}
    config = transformers.GraniteConfig(
        **sizes, residual_multiplier=0.3, embedding_multiplier=5.0, logits_scaling=4.0, tie_word_embeddings=False
    )
    return transformers.GraniteForCausalLM(config)


def _gpt_oss(transformers: Any) -> Any:
    config = transformers.GptOssConfig(
        **SIZES, num_local_experts=4, num_experts_per_tok=2, sliding_window=8, tie_word_embeddings=False
    )
    return transformers.GptOssForCausalLM(config)


def _gemma3(transformers: Any) -> Any:
    text = transformers.Gemma3TextConfig(**SIZES, sliding_window=8, query_pre_attn_scalar=16)
    return transformers.Gemma3ForCausalLM(text)


def _gemma3_multimodal(transformers: Any) -> Any:
    vision = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": LAYERS, "num_attention_heads": 2}
    config = transformers.Gemma3Config(
        text_config=SIZES | {"sliding_window": 8, "query_pre_attn_scalar": 16},
        vision_config=vision | {"image_size": 8, "patch_size": 4},
        mm_tokens_per_image=4,
        image_token_index=95,
    )
    return transformers.Gemma3ForConditionalGeneration(config)


def _deepseek_v3(transformers: Any) -> Any:
    sizes = SIZES | {"head_dim": 8, "num_key_value_heads": 4}
    config = transformers.DeepseekV3Config(
        **sizes,
        first_k_dense_replace=1,
        moe_intermediate_size=16,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=2,
        topk_group=1,
        n_shared_experts=1,
        q_lora_rank=16,
        kv_lora_rank=16,
        qk_nope_head_dim=8,
        qk_rope_head_dim=8,
        v_head_dim=8,
    )
    return transformers.DeepseekV3ForCausalLM(config)


GEMMA = {"norm": {"eps": 1e-6, "plus_one": True}, "embed_scale": HIDDEN**0.5, "tied_embedding": True}

MAKERS: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "llama": (_llama, {}),
    "qwen3": (_qwen3, {"tied_embedding": True}),
    "granite": (_granite, {"embed_scale": 5.0, "logit_scale": 0.25}),
    "gpt-oss": (_gpt_oss, {"norm": {"eps": 1e-5}}),
    "gemma3": (_gemma3, GEMMA),
    "gemma3-multimodal": (_gemma3_multimodal, GEMMA | {"config_path": "text_config"}),
    "deepseek-v3": (_deepseek_v3, {}),
}


@dataclass(frozen=True)
class Subject:
    """A saved model and the contract that describes it."""

    name: str
    folder: Path
    contract: Contract


def _randomise(model: torch.nn.Module) -> None:
    """Draw every weight, norms far from one included: unit weights hide a norm that is applied twice."""
    draw = torch.Generator().manual_seed(11)
    for name, weight in model.named_parameters():
        if "norm" in name:
            weight.data.uniform_(0.5, 2.0, generator=draw)
        elif weight.ndim > 1:
            weight.data.normal_(0.0, 1.5 / weight.shape[-1] ** 0.5, generator=draw)


def document(name: str, model: Any, **target: Any) -> dict[str, Any]:
    """Give a contract on planes 1, 3, 5 and the final state of a model."""
    eps = model.config.get_text_config().rms_norm_eps
    return {
        "schema": 1,
        "name": f"tiny-{name}",
        "version": "1.0.0",
        "summary": "A tiny model with random weights.",
        "target": {
            "model": name,
            "architecture": type(model).__name__,
            "hidden_size": HIDDEN,
            "num_hidden_layers": LAYERS,
            "vocab_size": VOCAB,
            "dtype": "float32",
            "norm": {"eps": eps},
        }
        | target,
        "planes": [
            {"name": "low", "boundary": 1},
            {"name": "mid", "boundary": 3},
            {"name": "high", "boundary": 5},
            {"name": "final", "boundary": LAYERS, "state": "pre_norm"},
        ],
        "storage": {"planes": ["low", "mid", "high", "final"]},
        "drafter": {
            "input": ["low", "mid", "high"],
            "last_hidden": "final",
            "hidden_size": HIDDEN,
            "attention": {"kind": "gqa", "heads": 4, "kv_heads": 2, "head_dim": 8},
            "intermediate_size": 48,
            "draft_vocab_size": VOCAB,
            "d2t": "none",
            "embedding": "own",
            "lm_head": "own",
            "fc": {},
            "rope": {"theta": 10000.0},
            "max_position": 128,
        },
        "tolerance": {"float32": {"relative_l2_median": 1e-4, "logprob_max": 1e-3, "origin": "chosen for the test"}},
    }


@pytest.fixture(scope="session", params=list(MAKERS))
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return _make(request.param, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return _make("llama", tmp_path_factory.mktemp("model"))


def _make(name: str, folder: Path) -> Subject:
    import transformers

    maker, target = MAKERS[name]
    model = maker(transformers)
    _randomise(model)
    model.save_pretrained(folder)
    contract = Contract.model_validate_json(json.dumps(document(name, model, **target)))
    return Subject(name, folder, contract)
