"""The same ids in different places of a draft's config: who reads them, and who falls back without a word."""

from __future__ import annotations

import pytest

from eagle3_contracts.dialects import NotVerified
from eagle3_contracts.dialects.config_keys import KEY, KeyReading, read_ids
from eagle3_contracts.dialects.plane_counts import PlaneCount, read_plane_count
from eagle3_contracts.dialects.table import find_tool

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


def test_what_was_not_read_says_of_which_engine_and_version() -> None:
    last = find_tool("sglang").last_read
    unread = NotVerified("sglang", "0.6.0", "any", last, "the keys it reads were not looked up")
    assert read_ids("sglang", "0.6.0", TOP) == unread
    last = find_tool("vllm").last_read
    unread = NotVerified("vllm", "0.22.0", "any", last, "its width of fc was not looked up")
    assert read_plane_count("vllm", "0.22.0", "qwen3", TOP) == unread
    assert isinstance(read_ids("vllm", "0.33.1rc1", TOP), KeyReading), "candidates lie in a range as releases do"
    assert isinstance(read_plane_count("vllm", "0.33.1rc1", "qwen3", TOP), PlaneCount)


def test_an_engine_or_runner_or_drafter_class_that_is_none_is_an_error_of_the_caller() -> None:
    known = "there are sglang, specforge, tensorrt-llm, vllm v1, vllm v2"
    for engine, runner, named in (("vllm", "v3", "vllm v3"), ("sglang", "v1", "sglang v1"), ("sglng", "", "sglng")):
        with pytest.raises(KeyError) as raised:
            read_ids(engine, "0.33.0", TOP, runner=runner)
        assert raised.value.args == (f"no key order for {named}; {known}",)
    for engine, drafter in (("sglang", "qwen3"), ("tensorrt-llm", "llama")):
        with pytest.raises(KeyError) as raised:
            read_plane_count(engine, "0.5.23", drafter, TOP)
        known = "there are sglang kimi, sglang llama, vllm deepseek, vllm llama, vllm qwen3"
        assert raised.value.args == (f"no width of fc for {engine} {drafter}; {known}",)


PLACES = {
    KEY: [1],
    "eagle_config": {KEY: [2], "layer_ids": [3]},
    "dflash_config": {"target_layer_ids": [4], "layer_ids": [5]},
    "dspark_target_layer_ids": [6],
    "target_layer_ids": [7],
}


def only(name: str) -> dict[str, object]:
    table, _, key = name.partition(".")
    return {table: {key: PLACES[table][key]} if key else PLACES[table]}


NAMES = (
    *(KEY, NESTED_KEY, "eagle_config.layer_ids", "dflash_config.target_layer_ids", "dflash_config.layer_ids"),
    *("dspark_target_layer_ids", "target_layer_ids"),
)


@pytest.mark.parametrize(
    ("engine", "version", "runner", "found"),
    [
        ("sglang", "0.5.9", "", (None, (2,), None, None, None, None, None)),
        ("sglang", "0.5.23", "", (None, (2,), None, None, None, None, None)),
        ("specforge", "0.2.0", "", (None, (2,), None, None, None, None, None)),
        ("tensorrt-llm", "1.2.1", "", (None,) * 7),
        ("vllm", "0.22.0", "", ((1,), (2,), None, (5,), None, None, None)),
        ("vllm", "0.33.0", "v1", ((1,), (2,), None, (5,), None, None, None)),
        ("vllm", "0.23.0", "v2", ((1,), None, None, None, None, None, None)),
        ("vllm", "0.24.0", "v2", ((1,), None, None, (5,), None, None, None)),
        ("vllm", "0.25.0", "v2", ((1,), None, None, (5,), None, (7,), (8,))),
        ("vllm", "0.26.0", "v2", ((1,), None, None, (5,), None, (7,), (8,))),
        ("vllm", "0.27.0", "v2", ((1,), None, (3,), (5,), (5,), (7,), (8,))),
        ("vllm", "0.33.0", "v2", ((1,), None, (3,), (5,), (5,), (7,), (8,))),
    ],
)
def test_each_place_alone_is_read_or_passed_over(engine, version, runner, found) -> None:
    """What is read of it; where nothing is, what was passed over is told with its value."""
    for name, ids in zip(NAMES, found, strict=True):
        reading = read_ids(engine, version, only(name), runner=runner)
        assert isinstance(reading, KeyReading)
        value = only(name)
        for part in name.split("."):
            value = value[part]
        assert reading.ids == ids, name
        assert (reading.key, reading.ignored) == ((name, ()) if ids else (None, ((name, value),)))


def test_where_all_places_hold_ids_the_first_is_read_and_every_other_is_told() -> None:
    reading = read_ids("vllm", "0.33.0", {**PLACES, "aux_hidden_states_layer_ids": [9]}, runner="v2")
    assert isinstance(reading, KeyReading)
    assert (reading.ids, reading.key) == ((1,), KEY)
    assert reading.ignored == (
        (NESTED_KEY, [2]),
        ("eagle_config.layer_ids", [3]),
        ("dflash_config.target_layer_ids", [4]),
        ("dflash_config.layer_ids", [5]),
        ("dspark_target_layer_ids", [6]),
        ("target_layer_ids", [7]),
        ("aux_hidden_states_layer_ids", [9]),
    )


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({KEY: [], "eagle_config": {KEY: [2]}}, KeyReading((2,), NESTED_KEY, ((KEY, []),))),
        ({KEY: None, "eagle_config": {KEY: [2]}}, KeyReading((2,), NESTED_KEY)),
        ({"eagle_config": {}}, KeyReading(None, None)),
        ({"eagle_config": {KEY: []}}, KeyReading(None, None, ((NESTED_KEY, []),))),
        ({"eagle_config": [2]}, KeyReading(None, None)),
        ({KEY: "2, 3"}, KeyReading(("2, 3",), KEY, (), f"{KEY} is 2, 3, no list of whole numbers")),
        ({KEY: ["7" * 99]}, KeyReading(("7" * 99,), KEY, (), f"{KEY} is ['{'7' * 58}, no list of whole numbers")),
        ({KEY: (2, 3)}, KeyReading((2, 3), KEY)),
    ],
)
def test_what_is_empty_or_of_another_kind_in_vllm(config, expected) -> None:
    assert read_ids("vllm", "0.33.0", config, runner="v1") == expected


@pytest.mark.parametrize(
    ("engine", "version", "drafter", "config", "count"),
    [
        ("vllm", "0.33.0", "llama", {KEY: [1, 2, 3, 4]}, PlaneCount(3, None)),
        ("vllm", "0.33.0", "qwen3", {KEY: [1, 2, 3, 4]}, PlaneCount(4, KEY)),
        ("vllm", "0.33.0", "llama", {"num_aux_hidden_states": 4}, PlaneCount(4, "num_aux_hidden_states")),
        ("sglang", "0.5.23", "kimi", {KEY: [1, 2, 3, 4]}, PlaneCount(4, KEY)),
        ("sglang", "0.5.23", "llama", {KEY: [1, 2, 3, 4]}, PlaneCount(3, None)),
        ("sglang", "0.5.11", "llama", {"eagle_config": {KEY: [1, 2]}}, PlaneCount(3, None)),
        ("sglang", "0.5.11", "llama", {"num_aux_hidden_states": 4}, PlaneCount(3, None)),
        ("sglang", "0.5.12", "llama", {"eagle_config": {KEY: [1, 2]}}, PlaneCount(2, NESTED_KEY)),
        ("sglang", "0.5.12", "llama", {"eagle_config": {KEY: []}}, PlaneCount(3, None)),
        ("sglang", "0.5.12", "llama", {"eagle_config": None}, PlaneCount(3, None)),
        ("sglang", "0.5.12", "llama", {"eagle_config": {KEY: "1, 2"}}, PlaneCount(3, None)),
        ("sglang", "0.5.23", "kimi", {"eagle_config": {KEY: []}, KEY: [1]}, PlaneCount(0, NESTED_KEY)),
        ("sglang", "0.5.23", "kimi", {"num_aux_hidden_states": 4}, PlaneCount(3, None)),
        ("vllm", "0.33.0", "deepseek", {"num_aux_layers": 5, **NESTED}, PlaneCount(3, NESTED_KEY)),
        ("vllm", "0.33.0", "qwen3", {"num_aux_hidden_states": 4, "num_aux_layers": 5}, PlaneCount(5, "num_aux_layers")),
        ("vllm", "0.33.0", "qwen3", {KEY: [], "eagle_config": {KEY: (1, 2)}}, PlaneCount(2, NESTED_KEY)),
    ],
)
def test_fc_takes_its_width_from_other_keys_than_the_capture(engine, version, drafter, config, count) -> None:
    """vLLM issue #54526: four ids at top level are captured, and Llama's fc is built for three."""
    assert read_plane_count(engine, version, drafter, config) == count


@pytest.mark.parametrize("other", [[2], {}, "ids", None])
def test_what_is_no_table_or_an_empty_one_undoes_no_other(other) -> None:
    reading = read_ids("vllm", "0.33.0", {"dflash_config": {"target_layer_ids": [4]}, "eagle_config": other})
    assert reading == KeyReading((5,), "dflash_config.target_layer_ids")


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
