"""What SGLang loads, drops and builds of a checkpoint: its own functions, evaluated from the wheels, against the table.

``load_weights`` runs over the parameters that the table says the class has; the flags that decide about those are read
from ``__init__`` by their form. vLLM's reading of speculators' config runs with PEER_LARGE_WHEELS.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from eagle3_contracts.consumers import CONSUMERS, Reading, Stored, read_checkpoint
from eagle3_contracts.consumers.configs import flatten_for_vllm
from eagle3_contracts.consumers.parameters import Facts, build_parameters
from eagle3_contracts.consumers.reading import ROTARY_BUFFERS
from eagle3_contracts.dialects.sglang import SGLANG
from eagle3_contracts.dialects.upstream import evaluate, find_function, find_method
from eagle3_contracts.dialects.vllm import VLLM
from support.wheels import Sources, large_wheels_wanted

CHANGES = ("0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.14", "0.5.16", "0.5.17", "0.5.20", "0.5.23")
VERSIONS = SGLANG.read if large_wheels_wanted() else CHANGES
LLAMA = "sglang/srt/models/llama_eagle3.py"
CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 64,
    "vocab_size": 256,
    "draft_vocab_size": 160,
    "num_hidden_layers": 1,
}
FLAGS: tuple[dict[str, Any], ...] = (
    {},
    {"norm_before_fc": True, "fc_norm": True, "bias": True, "norm_output": True},
    {"eagle_config": {"norm_before_fc": True}, "use_aux_norm": True},
    {"tie_word_embeddings": True, "attention_bias": True, "norm_before_residual": True},
)
LAYER = (
    *("hidden_norm", "input_layernorm", "post_attention_layernorm"),
    *(f"mlp.{name}_proj" for name in ("gate", "up", "down")),
    *(f"self_attn.{name}_proj" for name in "qkvo"),
)
NAMES = (
    *(
        "fc.weight",
        "fc.bias",
        "input_norm.weight",
        "norm.weight",
        "lm_head.weight",
        "embed_tokens.weight",
        "d2t",
        "t2d",
    ),
    *(f"fc_norm.{index}.weight" for index in range(3)),
    *("aux_norm_low.weight", "aux_norm_high.weight"),
    *(f"{prefix}{name}.weight" for prefix in ("midlayer.", "layers.0.", "layers.1.") for name in LAYER),
    *(f"midlayer.self_attn.{name}_proj.bias" for name in "qo"),
)
STACKS = {f".{name}_proj.": ".qkv_proj." for name in "qkv"} | {
    f".{name}_proj.": ".gate_up_proj." for name in ("gate", "up")
}


@pytest.mark.parametrize("flags", FLAGS, ids=lambda flags: ",".join(flags) or "none")
@pytest.mark.parametrize("version", VERSIONS)
def test_sglang_drops_what_the_table_says(sources: Sources, version: str, flags: dict[str, Any]) -> None:
    reading = read_checkpoint("sglang", version, "", Stored(CONFIG | flags, dict.fromkeys(NAMES, (1,))))
    assert isinstance(reading, Reading)
    loaded: list[str] = []
    current = ""

    def load(*_arguments: Any) -> None:
        loaded.append(current)

    def feed() -> Any:
        nonlocal current
        for name in NAMES:
            current = name
            yield name, torch.zeros(4, dtype=torch.int64)

    run = evaluate(
        find_method(sources.text("sglang", version, LLAMA), "LlamaForCausalLMEagle3", "load_weights"),
        {"torch": torch, "default_weight_loader": load},
    )
    run(SimpleNamespace(named_parameters=lambda: _parameters(reading, version, load).items()), feed())
    assert set(reading.dropped) == set(NAMES) - set(loaded) - {"d2t", "t2d"}


def _parameters(reading: Reading, version: str, load: Callable[..., None]) -> dict[str, Any]:
    """Give the parameters that the table builds for these flags, under the class's own names."""
    on = reading.features
    facts = Facts(
        attention="gqa",
        layers=1,
        later_norm=reading.later_norm,
        planes=3,
        fc_bias="fc_bias" in on,
        joint_norm="joint_norm" in on,
        plane_norms="plane_norms" in on,
        o_bias="o_bias" in on,
        head=reading.head != "embedding",
    )
    early = version in {"0.5.9", "0.5.10", "0.5.10.post1", "0.5.11"}
    named = {}
    for name in build_parameters(facts).used - {"d2t"}:
        own = name.replace("layers.0.", "midlayer.") if early else name
        for part, stack in STACKS.items():
            own = own.replace(part, stack)
        named[own if own.startswith("lm_head.") else f"model.{own}"] = SimpleNamespace(weight_loader=load)
    return named


@pytest.mark.parametrize("version", VERSIONS)
def test_sglang_reads_the_flags_that_the_table_says(sources: Sources, version: str) -> None:
    """The class names no flag that the table does not read from that version on, and the other way round."""
    text = sources.text("sglang", version, LLAMA)
    (consumer,) = (
        item
        for item in CONSUMERS
        if item.engine == "sglang" and item.module == "llama" and _covers(item.versions, version)
    )
    read = {path[-1] for places in consumer.flags.values() for path in places} - {"attention_bias"}
    named = {"norm_before_residual", "norm_before_fc", "fc_norm", "use_aux_norm", "norm_output", "bias"}
    strings = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
    assert strings & named == read
    assert ("EAGLE3 currently only supports 1 layer" in strings) == consumer.one_layer
    assert "hidden_states.shape[-1] != embeds.shape[-1]" in ast.unparse(ast.parse(text))


@pytest.mark.parametrize("version", VERSIONS)
def test_sglang_reads_the_layout_of_the_rope_that_the_table_says(sources: Sources, version: str) -> None:
    text = sources.text("sglang", version, "sglang/srt/models/llama.py")
    (consumer,) = (
        item
        for item in CONSUMERS
        if item.engine == "sglang" and item.module == "llama" and _covers(item.versions, version)
    )
    assert ('"rope_parameters"' in text) == (consumer.rope == "v5")
    assert f'"{consumer.rope_style_key}"' in text


@pytest.mark.skipif(not large_wheels_wanted(), reason="vLLM's wheels are read nightly: PEER_LARGE_WHEELS=1")
@pytest.mark.parametrize("version", VLLM.read)
def test_vllm_makes_of_speculators_config_what_the_table_says(sources: Sources, version: str) -> None:
    text = sources.text("vllm", version, "vllm/transformers_utils/configs/speculators/algos.py")
    update = evaluate(find_function(text, "update_eagle3"))
    for extra in ({}, {"norm_before_residual": False, "fc_norm": True, "norm_output": True}, {"norm_before_fc": True}):
        config = {"draft_vocab_size": 160, "eagle_aux_hidden_state_layer_ids": [2, 4, 5], **extra}
        made: dict[str, Any] = {"model_type": "llama", "hidden_size": 64}
        update(config_dict=config, pre_trained_config=made)
        flat, stops = flatten_for_vllm(
            {**config, "transformer_layer_config": {"model_type": "llama", "hidden_size": 64}}, version
        )
        assert stops == ""
        assert {key: value for key, value in made.items() if value is not False} == {
            key: value for key, value in flat.items() if value is not False
        }


@pytest.mark.skipif(not large_wheels_wanted(), reason="vLLM's wheels are read nightly: PEER_LARGE_WHEELS=1")
@pytest.mark.parametrize("version", VLLM.read)
def test_vllm_skips_the_rotary_buffers_that_the_table_says(sources: Sources, version: str) -> None:
    models = "vllm/model_executor/models"
    text = sources.text("vllm", version, f"{models}/utils.py")
    named = {
        node.value
        for item in ast.walk(ast.parse(text))
        if isinstance(item, ast.ClassDef) and item.name == "AutoWeightsLoader"
        for node in ast.walk(item)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("rotary_")
    }
    assert named == set(ROTARY_BUFFERS)
    for module in sources.names("vllm", version, f"{models}/"):
        if module in {"llama_eagle3.py", "qwen3_eagle3.py", "deepseek_eagle3.py"}:
            assert "AutoWeightsLoader(" in sources.text("vllm", version, f"{models}/{module}")


def _covers(versions: str, version: str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(versions).contains(version, prereleases=True)
