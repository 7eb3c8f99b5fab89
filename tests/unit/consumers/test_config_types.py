"""Keys that hold another kind of value than engines compute with: each is told, and none is read as something else."""

from __future__ import annotations

import pytest

from eagle3_contracts.consumers import CONSUMERS, Reading, Stored, read_checkpoint
from eagle3_contracts.consumers.config_types import find_wrong_types
from eagle3_contracts.dialects.table import find_tool
from support.configs import KEY

SOUND = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "head_dim": None,
    "rope_theta": 50000,
    "rope_scaling": None,
    "tie_word_embeddings": False,
    "eagle_config": {KEY: [1, 3, 4]},
}


def test_a_sound_config_has_none_and_null_is_no_defect() -> None:
    assert not list(find_wrong_types(SOUND))
    nested = {"transformer_layer_config": {"hidden_size": 64}, "norm_before_residual": True}
    assert not list(find_wrong_types(nested))


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("hidden_size", "64", "hidden_size is '64', no whole number"),
        ("draft_vocab_size", 160.0, "draft_vocab_size is 160.0, no whole number"),
        ("num_hidden_layers", 10**9, "num_hidden_layers is 1000000000, no whole number of a sensible size"),
        ("num_hidden_layers", -1, "num_hidden_layers is -1, no whole number of a sensible size"),
        ("num_aux_hidden_states", [3], "num_aux_hidden_states is [3], no whole number"),
        ("vocab_size", True, "vocab_size is True, no whole number"),
        ("rope_theta", "1e4", "rope_theta is '1e4', no number"),
        ("tie_word_embeddings", "false", "tie_word_embeddings is 'false', not true or false"),
        ("eagle_config", [1, 3, 4], "eagle_config is [1, 3, 4], no table"),
        ("architectures", "LlamaForCausalLMEagle3", "architectures is 'LlamaForCausalLMEagle3', no list of names"),
    ],
)
def test_each_kind_is_told_in_every_engine(key: str, value: object, told: str) -> None:
    config = SOUND | {key: value}
    assert [str(item) for item in find_wrong_types(config)] == [told]
    for engine in {consumer.engine for consumer in CONSUMERS}:
        runner = "v1" if engine == "vllm" else ""
        reading = read_checkpoint(engine, find_tool(engine).read[-1], runner, Stored(config, {}, "LlamaForCausalLM", 8))
        assert isinstance(reading, Reading)
        assert reading.stops == told


def test_the_decoder_layers_table_is_looked_at_too() -> None:
    nested = {"transformer_layer_config": {"hidden_size": "64"}}
    (found,) = find_wrong_types(nested)
    assert found.key == "transformer_layer_config.hidden_size"


def test_ids_that_are_no_whole_numbers_stop_the_engine_that_reads_them() -> None:
    config = SOUND | {"eagle_config": {KEY: ["1", "3", "4"]}}
    stored = Stored(config, {}, "LlamaForCausalLM", 8)
    sglang = read_checkpoint("sglang", "0.5.23", "", stored)
    other = read_checkpoint("tensorrt-llm", "1.2.1", "", stored)
    assert isinstance(sglang, Reading)
    assert isinstance(other, Reading)
    assert "no list of whole numbers" in sglang.stops
    assert "whole numbers" not in other.stops
