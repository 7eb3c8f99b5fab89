"""The same ids in different places of a draft's config: who reads them, and who falls back without a word."""

from __future__ import annotations

import pytest

from eagle3_contracts.dialects import NotVerified
from eagle3_contracts.dialects.config_keys import KEY, KeyReading, read_ids
from eagle3_contracts.dialects.plane_counts import PlaneCount, read_plane_count

TOP = {KEY: [2, 16, 29]}
NESTED = {"eagle_config": {KEY: [1, 15, 28]}}
NESTED_KEY = f"eagle_config.{KEY}"


@pytest.mark.parametrize(
    ("engine", "version", "runner", "config", "expected"),
    [
        ("sglang", "0.5.23", "", TOP, KeyReading(None, None, ((KEY, [2, 16, 29]),))),
        ("sglang", "0.5.23", "", NESTED, KeyReading((1, 15, 28), NESTED_KEY)),
        ("sglang", "0.5.23", "", {"eagle_config": {KEY: []}}, KeyReading((), NESTED_KEY)),
        ("vllm", "0.33.0", "v1", TOP | NESTED, KeyReading((2, 16, 29), KEY, ((NESTED_KEY, [1, 15, 28]),))),
        ("vllm", "0.33.0", "v1", NESTED, KeyReading((1, 15, 28), NESTED_KEY)),
        ("vllm", "0.33.0", "v2", NESTED, KeyReading(None, None, ((NESTED_KEY, [1, 15, 28]),))),
        ("vllm", "0.33.0", "v2", {"eagle_config": {"layer_ids": [3]}}, KeyReading((3,), "eagle_config.layer_ids")),
        (
            "vllm",
            "0.26.0",
            "v2",
            {"eagle_config": {"layer_ids": [3]}},
            KeyReading(None, None, (("eagle_config.layer_ids", [3]),)),
        ),
        ("tensorrt-llm", "1.2.1", "", TOP, KeyReading(None, None, ((KEY, [2, 16, 29]),))),
        ("specforge", "0.2.0", "", NESTED, KeyReading((1, 15, 28), NESTED_KEY)),
    ],
)
def test_each_engine_reads_its_own_keys(engine, version, runner, config, expected) -> None:
    assert read_ids(engine, version, config, runner=runner) == expected


def test_vllm_v1_lets_an_eagle_config_undo_the_ids_of_dflash() -> None:
    config = {"dflash_config": {"target_layer_ids": [1, 9]}, "eagle_config": {"use_aux_hidden_state": True}}
    first, second = (read_ids("vllm", "0.33.0", config, runner=runner) for runner in ("v1", "v2"))
    assert isinstance(first, KeyReading)
    assert first.ids is None
    assert isinstance(second, KeyReading)
    assert second.ids == (2, 10)


def test_versions_that_were_not_read_and_engines_that_are_none() -> None:
    assert isinstance(read_ids("sglang", "0.6.0", TOP), NotVerified)
    assert isinstance(read_plane_count("vllm", "0.22.0", "qwen3", TOP), NotVerified)
    with pytest.raises(KeyError, match="vllm v1"):
        read_ids("vllm", "0.33.0", TOP, runner="v3")
    with pytest.raises(KeyError, match="sglang kimi"):
        read_plane_count("sglang", "0.5.23", "qwen3", TOP)


@pytest.mark.parametrize(
    ("engine", "version", "drafter", "config", "count"),
    [
        ("vllm", "0.33.0", "llama", {KEY: [1, 2, 3, 4]}, PlaneCount(3, None)),
        ("vllm", "0.33.0", "qwen3", {KEY: [1, 2, 3, 4]}, PlaneCount(4, KEY)),
        ("vllm", "0.33.0", "llama", {"num_aux_hidden_states": 4}, PlaneCount(4, "num_aux_hidden_states")),
        ("sglang", "0.5.23", "kimi", {KEY: [1, 2, 3, 4]}, PlaneCount(4, KEY)),
        ("sglang", "0.5.23", "llama", {KEY: [1, 2, 3, 4]}, PlaneCount(3, None)),
        ("sglang", "0.5.11", "llama", {"eagle_config": {KEY: [1, 2]}}, PlaneCount(3, None)),
    ],
)
def test_fc_takes_its_width_from_other_keys_than_the_capture(engine, version, drafter, config, count) -> None:
    """vLLM issue #54526: four ids at top level are captured, and Llama's fc is built for three."""
    assert read_plane_count(engine, version, drafter, config) == count


@pytest.mark.parametrize("ids", [["1", "3"], [1.0, 3.0], [True], [None], [[1, 3]], "1,3", 3, {"a": 1}])
@pytest.mark.parametrize(
    ("engine", "version", "runner"), [("sglang", "0.5.23", ""), ("vllm", "0.33.0", "v1"), ("specforge", "0.2.0", "")]
)
def test_ids_that_are_no_whole_numbers_are_told_and_never_taken_for_ids(engine, version, runner, ids) -> None:
    reading = read_ids(engine, version, {"eagle_config": {KEY: ids}}, runner=runner)
    assert isinstance(reading, KeyReading)
    assert reading.wrong.startswith(f"{NESTED_KEY} is ")
    assert reading.ids is not None
    assert not all(type(item) is int for item in reading.ids)


@pytest.mark.parametrize("count", ["three", 3.0, [3], {"a": 3}])
def test_a_number_of_planes_that_is_none_is_passed_over(count) -> None:
    assert read_plane_count("vllm", "0.33.0", "llama", {"num_aux_hidden_states": count}) == PlaneCount(3, None)
