"""How engines read a checkpoint: the differences between versions, classes and runners, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from eagle3_contracts.consumers import CONSUMERS, Reading, Stored, read_checkpoint, read_range
from eagle3_contracts.dialects import NotVerified, Resolution
from eagle3_contracts.dialects.table import find_tool
from support.configs import KEY

LAYER = (
    *("hidden_norm", "input_layernorm", "post_attention_layernorm"),
    *(f"mlp.{name}_proj" for name in ("gate", "up", "down")),
    *(f"self_attn.{name}_proj" for name in "qkvo"),
)
FLAT: dict[str, Any] = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "model_type": "llama",
    "hidden_size": 64,
    "vocab_size": 256,
    "draft_vocab_size": 160,
    "num_hidden_layers": 1,
    KEY: [2, 4, 5],
    "eagle_config": {KEY: [1, 3, 4]},
}
NESTED: dict[str, Any] = {
    "speculators_model_type": "eagle3",
    "architectures": ["Eagle3DraftModel"],
    "draft_vocab_size": 160,
    KEY: [2, 4, 5],
    "transformer_layer_config": {"model_type": "llama", "hidden_size": 64, "vocab_size": 256, "num_hidden_layers": 1},
}


def names(prefix: str = "midlayer.", *more: str) -> dict[str, tuple[int, ...]]:
    layer = [f"{prefix}{name}.weight" for name in LAYER]
    return dict.fromkeys(["fc.weight", "norm.weight", "lm_head.weight", "d2t", "t2d", *layer, *more], (1,))


def read(engine: str, version: str, config: dict[str, Any], *, runner: str = "", **shapes: Any) -> Reading:
    stored = Stored(config, shapes.get("shapes", names()), "LlamaForCausalLM", 8, 64)
    reading = read_checkpoint(engine, version, runner, stored)
    assert isinstance(reading, Reading)
    return reading


def test_every_version_that_was_read_has_its_drafter_classes() -> None:
    for engine in {consumer.engine for consumer in CONSUMERS}:
        for version in find_tool(engine).read:
            stored = Stored(FLAT, names(), "LlamaForCausalLM", 8, 64)
            assert isinstance(read_checkpoint(engine, version, "v1" if engine == "vllm" else "", stored), Reading)


def test_a_version_that_was_not_read_is_not_guessed() -> None:
    assert isinstance(read_checkpoint("sglang", "0.6.0", "", Stored(FLAT, names())), NotVerified)
    with pytest.raises(KeyError, match="how llama-cpp reads a checkpoint was not read"):
        read_checkpoint("llama-cpp", "1.0", "", Stored(FLAT, names()))


def test_sglang_translates_layers_only_from_0_5_12_on() -> None:
    layers = names("layers.0.")
    assert len(read("sglang", "0.5.11", FLAT, shapes=layers).dropped) == len(LAYER)
    assert read("sglang", "0.5.12", FLAT, shapes=layers).dropped == ()
    assert read("sglang", "0.5.9", FLAT).dropped == ()


def test_sglang_knows_each_norm_from_its_own_version_on() -> None:
    config = {**FLAT, "norm_before_fc": True, "fc_norm": True, "norm_output": True, "norm_before_residual": True}
    assert read("sglang", "0.5.11", config).features == frozenset()
    assert read("sglang", "0.5.12", config).features == {"plane_norms", "recurrent_post_norm"}
    assert read("sglang", "0.5.17", config).features == {"plane_norms", "recurrent_post_norm", "joint_norm"}
    assert "norm_before_residual" in read("sglang", "0.5.23", config).flags_ignored
    assert read("vllm", "0.33.0", config, runner="v1").flags_ignored == ()


def test_the_nested_place_of_a_flag_decides_even_if_it_is_false() -> None:
    config = {**FLAT, "norm_before_fc": True, "eagle_config": {KEY: [1, 3, 4], "norm_before_fc": False}}
    for engine, runner in (("sglang", ""), ("vllm", "v2")):
        assert "joint_norm" not in read(engine, find_tool(engine).last_read, config, runner=runner).features


def test_bias_gives_o_proj_one_as_well() -> None:
    assert read("sglang", "0.5.23", {**FLAT, "bias": True}).features == {"fc_bias", "o_bias"}
    assert read("sglang", "0.5.23", {**FLAT, "attention_bias": True}).features == {"o_bias"}
    assert read("vllm", "0.33.0", {**FLAT, "attention_bias": True}, runner="v1").features == {"qkv_bias", "o_bias"}


def test_sglang_norms_later_layers_by_a_norm_that_is_not_there() -> None:
    later = [
        name.replace("midlayer.", "layers.1.") for name in names() if "midlayer" in name and "hidden_norm" not in name
    ]
    reading = read("sglang", "0.5.23", {**FLAT, "num_hidden_layers": 2}, shapes=names("midlayer.", *later))
    assert reading.idle == ("layers.1.input_layernorm.weight",)
    assert reading.unfilled == ("layers.1.hidden_norm.weight",)
    assert "1 layer only" in read("sglang", "0.5.11", {**FLAT, "num_hidden_layers": 2}).stops


def test_fc_is_skipped_for_one_plane_as_wide_as_the_embedding() -> None:
    config = {**FLAT, KEY: [2], "eagle_config": {KEY: [1]}}
    assert read("sglang", "0.5.23", config).fc_skipped
    assert not read("vllm", "0.33.0", config, runner="v1").fc_skipped
    assert not read("sglang", "0.5.23", FLAT).fc_skipped


def test_strays_are_dropped_by_one_engine_and_refused_by_the_other() -> None:
    shapes = names("midlayer.", "fc.bias", "input_norm.weight")
    assert read("sglang", "0.5.23", FLAT, shapes=shapes).dropped == ("fc.bias", "input_norm.weight")
    reading = read("vllm", "0.33.0", FLAT, runner="v1", shapes=shapes)
    assert (reading.refused, reading.dropped) == (("fc.bias",), ("input_norm.weight",))


def test_a_missing_head_is_random_or_the_targets() -> None:
    headless = {name: shape for name, shape in names().items() if name != "lm_head.weight"}
    assert read("sglang", "0.5.23", FLAT, shapes=headless).head == "random"
    assert read("sglang", "0.5.23", {**FLAT, "draft_vocab_size": None}, shapes=headless).head == "target"
    assert read("vllm", "0.33.0", FLAT, runner="v1", shapes=headless).head == "target"
    assert (
        "AttributeError" in read("sglang", "0.5.23", {k: v for k, v in FLAT.items() if k != "draft_vocab_size"}).stops
    )
    assert read("sglang", "0.5.23", {**FLAT, "tie_word_embeddings": True}).head == "embedding"


def test_sglang_keeps_an_own_embedding_only_at_another_width() -> None:
    shapes = names("midlayer.", "embed_tokens.weight")
    assert read("sglang", "0.5.23", FLAT, shapes=shapes).embedding == "target"
    assert read("sglang", "0.5.23", {**FLAT, "target_hidden_size": 128}, shapes=shapes).embedding == "own"
    assert read("sglang", "0.5.23", {**FLAT, "target_hidden_size": 128}).embedding == "random"
    assert read("vllm", "0.33.0", FLAT, runner="v1", shapes=shapes).embedding == "own"


def test_vllms_runners_read_ids_in_other_places() -> None:
    config = {key: value for key, value in FLAT.items() if key != KEY}
    first, second = (read("vllm", "0.33.0", config, runner=runner) for runner in ("v1", "v2"))
    assert isinstance(first.taps, Resolution)
    assert first.taps.boundaries == (1, 3, 4)
    assert second.ids is None
    assert second.passed_over == (f"eagle_config.{KEY} [1, 3, 4]",)


def test_speculators_config_is_read_by_vllm_alone_and_keys_arrived_over_time() -> None:
    config = {**NESTED, "fc_norm": True}
    shapes = names("layers.0.", "embed_tokens.weight")
    assert "nested config.json" in read("sglang", "0.5.23", config, shapes=shapes).stops
    assert read("vllm", "0.22.0", config, runner="v1", shapes=shapes).features == {"residual_post_norm"}
    for version, features in (("0.24.0", set()), ("0.25.0", {"plane_norms"})):
        later = read("vllm", version, {**config, "norm_before_residual": False}, runner="v1", shapes=shapes)
        assert later.features == features
    qwen = {**NESTED, "transformer_layer_config": {**NESTED["transformer_layer_config"], "model_type": "qwen3"}}
    assert not read("vllm", "0.22.0", qwen, runner="v1", shapes=shapes).qk_norm
    assert read("vllm", "0.24.0", qwen, runner="v1", shapes=shapes).qk_norm


def test_versions_that_agree_stand_together() -> None:
    stored = Stored(FLAT, names("layers.0."), "LlamaForCausalLM", 8, 64)
    spans = [reading.span for reading in read_range("sglang", ">=0.5.9", stored) if isinstance(reading, Reading)]
    assert spans == ["sglang 0.5.9 to 0.5.11", "sglang 0.5.12 to 0.5.23"]


@pytest.mark.parametrize("buffer", ["rotary_emb.inv_freq", "rotary_emb.cos_cached", "rotary_pos_emb.inv_freq"])
def test_no_version_loses_anything_with_a_rotary_buffer(buffer: str) -> None:
    more = names("midlayer.", f"midlayer.self_attn.{buffer}", "midlayer.self_attn.rotary_scale")
    for engine in {consumer.engine for consumer in CONSUMERS}:
        for reading in read_range(
            engine, f">={find_tool(engine).read[0]}", Stored(FLAT, more, "LlamaForCausalLM", 8, 64)
        ):
            assert isinstance(reading, Reading)
            if not reading.stops:
                assert {*reading.refused, *reading.dropped} >= {"midlayer.self_attn.rotary_scale"}
                assert not [name for name in (*reading.refused, *reading.dropped) if buffer in name]
