"""ModelOpt 0.47.0: its EagleModule norms the state twice, and the oracle with ``hidden_norm = "chained"`` follows it.

transformers' decoder layer applies its input_layernorm to the state, and the module's own hook applies hidden_norm to
the result: hidden_norm(input_layernorm(state)) (modeling_eagle.py:71-80, 121). No engine does. Real: EagleModule,
alone and not the whole HFEagleModel, over transformers' Llama and DeepSeek layers. Set by hand, as HFEagleModel does:
the rotary embedding.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.drafter import GqaAttention
from eagle3_contracts.drafter import ReferenceDrafter, canonical_names
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import judge_clause
from support.checkpoints import promise_engines
from support.drafters import GQA, MLA, ROPES, drafter_contract, random_inputs, random_weights, rope_parameters
from support.wheels import Sources

pytestmark = pytest.mark.peer("modelopt")

CHAINED = {"hidden_norm": "chained"}
VARIANTS: dict[str, dict[str, Any]] = {
    "llama": {},
    "llama, fc.bias": {"fc": {"bias": True}},
    "llama, attention_bias": {"attention": GQA | {"bias": True}},
    "llama, two layers": {"layers": 2},
    "llama, llama3 rope": {"rope": ROPES["llama3"]},
    "deepseek": {"attention": MLA},
    "deepseek, queries not compressed": {"attention": MLA | {"q_lora_rank": None}},
    "deepseek, attention_bias": {"attention": MLA | {"bias": True}},
    "deepseek, two layers": {"attention": MLA, "layers": 2},
    "deepseek, interleaved": {"attention": MLA, "rope": ROPES["default"] | {"layout": "interleaved"}},
    "deepseek, yarn": {"attention": MLA, "rope": ROPES["yarn"] | {"layout": "interleaved"}},
}


@pytest.fixture
def modeling(import_from: Callable[..., ModuleType]) -> ModuleType:
    (root,) = importlib.util.find_spec("modelopt").submodule_search_locations
    return import_from(Path(root).parent, "modelopt.torch.speculative.plugins.modeling_eagle")


def small_contract(**changes: Any) -> Contract:
    """transformers' DeepSeek has 1e-6 in MLA's inner norms whatever the config says, so all norms have it here."""
    return drafter_contract(target_norm={"eps": 1e-6}, **changes)


@pytest.mark.parametrize("name", VARIANTS)
def test_the_oracle_with_chained_norms_gives_the_real_logits(name: str, modeling: ModuleType) -> None:
    contract = small_contract(**CHAINED, **VARIANTS[name])
    weights = random_weights(contract)
    real = run_module(modeling, contract, weights)
    torch.testing.assert_close(run_oracle(contract, weights), real, rtol=0, atol=1e-5)


def test_the_drafter_that_engines_serve_is_another_one(modeling: ModuleType) -> None:
    contract = small_contract()
    weights = random_weights(contract)
    assert (run_oracle(contract, weights) - run_module(modeling, contract, weights)).abs().max() > 0.1


def test_only_the_weight_of_input_layernorm_tells_them_apart(modeling: ModuleType) -> None:
    contract = small_contract()
    weights = random_weights(contract)
    weights["layers.0.input_layernorm.weight"] = torch.ones_like(weights["layers.0.input_layernorm.weight"])
    difference = (run_oracle(contract, weights) - run_module(modeling, contract, weights)).abs().max()
    assert difference < 1e-4, "norming twice without a weight is norming once, but for eps"


def test_no_engine_serves_that_drafter_and_a_clause_says_so() -> None:
    asked = promise_engines(small_contract(**CHAINED), {"sglang": ">=0.5.12,<0.5.24", "vllm": ">=0.25,<=0.33.0"})
    failed = [item for item in judge_contract(asked) if item.verdict is Verdict.FAILED]
    told = [item.observed for item in failed if item.clause == "contract.engine-features"]
    assert [line.partition(":")[0] for line in told] == ["sglang", "vllm"]
    assert all("hidden_norm chained" in line for line in told)


@pytest.mark.parametrize(
    ("version", "embeds_by"), [("0.40.0", "input_embeds_norm"), ("0.43.0", "layers[0].input_layernorm")]
)
def test_the_norm_of_the_embedding_became_the_layers_own(version: str, embeds_by: str, sources: Sources) -> None:
    """0.40 has a norm of its own for it, and nothing in the layer's place: its drafter is the plain one."""
    text = sources.text("nvidia-modelopt", version, "modelopt/torch/speculative/plugins/transformers.py")
    assert f"self._input_embeds = self.{embeds_by}(" in text
    assert ("self.layers[0].input_layernorm = nn.Identity()" in text) is (version == "0.40.0")


def test_its_names_are_canonical_but_for_the_prefix(modeling: ModuleType) -> None:
    contract = small_contract(fc={"bias": True})
    names = [f"eagle_module.{name}" for name in build_module(modeling, contract).state_dict()]
    assert set(canonical_names(names, "modelopt").values()) == set(random_weights(contract)) - {"embed_tokens.weight"}


def judge_contract(contract: Contract) -> list[Finding]:
    return [finding for item in clauses_of("contract") for finding in judge_clause(item, contract, contract)]


def run_oracle(contract: Contract, weights: dict[str, Tensor]) -> Tensor:
    inputs = random_inputs(contract)
    return ReferenceDrafter(contract, weights).forward(inputs.fc_input, inputs.tokens)[0].logits


@torch.no_grad()
def run_module(modeling: ModuleType, contract: Contract, weights: dict[str, Tensor]) -> Tensor:
    """Run the real module with these tensors over a text, as its trainer does at step 0."""
    module, inputs = build_module(modeling, contract), random_inputs(contract)
    module.load_state_dict({name: weights[name] for name in module.state_dict()}, strict=True)
    length = len(inputs.tokens)
    mask = torch.full((length, length), float("-inf")).triu(1)[None, None]
    embedded = weights["embed_tokens.weight"][inputs.tokens][None]
    normed, _, _ = module(module.fc(inputs.fc_input[None]), embedded, mask, torch.arange(length)[None])
    return module.lm_head(normed)[0]


def build_module(modeling: ModuleType, contract: Contract) -> Any:
    layer, rotary, config = _decoder(contract)
    module = modeling.EagleModule(config, layer, bias=contract.drafter.fc.bias).float().eval()
    module.rotary_emb = rotary(config=config)
    return module


def _decoder(contract: Contract) -> tuple[Any, Any, Any]:
    """Give transformers' decoder layer and rotary embedding of the contract's attention, and their config."""
    from transformers import DeepseekV3Config, LlamaConfig
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as deepseek
    from transformers.models.llama import modeling_llama as llama

    drafter, attention = contract.drafter, contract.drafter.attention
    values: dict[str, Any] = {
        "vocab_size": contract.target.vocab_size,
        "draft_vocab_size": drafter.draft_vocab_size,
        "hidden_size": drafter.hidden_size,
        "intermediate_size": drafter.intermediate_size,
        "num_hidden_layers": drafter.layers,
        "num_attention_heads": attention.heads,
        "attention_bias": attention.bias,
        "max_position_embeddings": drafter.max_position,
        "rms_norm_eps": contract.target.norm.eps,
        "rope_parameters": rope_parameters(contract),
        "use_aux_hidden_state": True,
        "eagle_aux_hidden_state_layer_ids": list(range(len(drafter.input))),
        "use_last_layernorm": True,
        "has_lm_head": True,
        "eagle_decoder_type": "llama",
    }
    if isinstance(attention, GqaAttention):
        shape = {"num_key_value_heads": attention.kv_heads, "head_dim": attention.head_dim}
        config: Any = LlamaConfig(**values | shape)
        layer, rotary = llama.LlamaDecoderLayer, llama.LlamaRotaryEmbedding
    else:
        sizes = attention.model_dump(exclude={"kind", "heads", "bias"})
        shape = {"num_key_value_heads": attention.heads, "first_k_dense_replace": drafter.layers}
        config = DeepseekV3Config(**values | shape | sizes, rope_interleave=drafter.rope.layout == "interleaved")
        layer, rotary = deepseek.DeepseekV3DecoderLayer, deepseek.DeepseekV3RotaryEmbedding
    config._attn_implementation = "eager"
    return layer, rotary, config
