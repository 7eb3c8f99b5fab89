"""The capture rules of speculators, SpecForge, ModelOpt and AngelSlim, evaluated from their wheels."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import pytest

from eagle3_contracts.dialects import Dialect, Outcome, find_dialect
from eagle3_contracts.dialects.upstream import evaluate, find_function, find_method
from support.wheels import Sources

N = 7
LISTS = [*permutations(range(-2, N + 2), 3), *product(range(-1, N + 1), repeat=2), *((k,) for k in range(-3, N + 2))]
ARCHITECTURE = "LlamaForCausalLM"


def dialect(tool: str, version: str, setting: str | None = None) -> Dialect:
    found = find_dialect(tool, version, ARCHITECTURE, setting=setting)
    assert isinstance(found, Dialect)
    return found


class Captured:
    """A stand-in for a hidden state: where it was taken; adding the residual changes nothing."""

    def __init__(self, boundary: int) -> None:
        self.boundary = boundary

    def __add__(self, _residual: object) -> Captured:
        return self

    def clone(self) -> Captured:
        return self


def statements(text: str, function: str, test: str) -> Iterator[ast.stmt]:
    """Give the statements of a function whose source holds a text."""
    return (node for node in find_function(text, function).body if test in ast.unparse(node))


@pytest.mark.parametrize("version", ["0.3.0", "0.4.0", "0.4.0.1"])
def test_speculators_worker_captures_after_layers(sources: Sources, version: str) -> None:
    """Its patched forward is run over layers that say where they are."""
    text = sources.text("speculators", version, "speculators/data_generation/custom_worker.py")
    taken: list[Captured] = []
    rank = SimpleNamespace(is_first_rank=True, is_last_rank=True, rank_in_group=0)
    names = {
        "get_pp_group": lambda: rank,
        "get_tp_group": lambda: rank,
        "islice": lambda layers, start, stop: layers[start:stop],
        "IntermediateTensors": dict,
    }
    forward = evaluate(find_function(text, "_patched_forward"), names)
    generator = sources.text("speculators", version, "speculators/data_generation/vllm_hidden_states_generator.py")
    rule = dialect("speculators", version)
    accepts = range_check(generator)
    for ids in LISTS:
        resolution = rule.resolve(ids, N)
        if not accepts(ids, N):
            assert resolution.outcome is Outcome.CRASHES_AT_START, ids
            continue
        taken.clear()
        forward(worker(ids, taken), None, None, None)
        assert tuple(state.boundary for state in taken) == resolution.boundaries, ids


def worker(ids: tuple[int, ...], taken: list[Captured]) -> Any:
    def layer(index: int) -> Any:
        return lambda **_: (Captured(index + 1), 0)

    return SimpleNamespace(
        _extension=SimpleNamespace(_layer_ids=frozenset(ids), _store_captured_states=taken.extend),
        layers=[layer(index) for index in range(N)],
        start_layer=0,
        end_layer=N,
        norm=lambda hidden, residual: (hidden, residual),
        embed_input_ids=lambda _: Captured(0),
        get_input_embeddings=lambda _: Captured(0),
    )


def range_check(generator: str) -> Any:
    """Give the generator's check of layer ids as a function."""
    (loop,) = statements(generator, "__init__", "out of bounds")
    assert ast.unparse(loop).count("layer_id < 0 or layer_id >= num_layers") == 1
    return lambda ids, layers: all(0 <= value < layers for value in ids)


@pytest.mark.parametrize("version", ["0.3.0", "0.4.0", "0.4.0.1"])
def test_speculators_default_of_the_generator(sources: Sources, version: str) -> None:
    text = sources.text("speculators", version, "speculators/data_generation/vllm_hidden_states_generator.py")
    assert "self.layer_ids = [2, num_layers // 2, num_layers - 3, num_layers - 1]" in text
    assert dialect("speculators", version).resolve(None, 61).boundaries == (3, 31, 59, 61)


@pytest.mark.parametrize("version", ["0.5.0", "0.6.0", "0.7.0", "0.8.0", "0.9.0"])
def test_speculators_trainer_takes_the_lists_that_the_dialect_takes(sources: Sources, version: str) -> None:
    text = sources.text("speculators", version, "speculators/models/utils.py")
    verifier = SimpleNamespace(num_hidden_layers=N)
    names = {
        "get_verifier_config": lambda *_, **__: verifier,
        "warnings": SimpleNamespace(warn=lambda *_, **__: None),
        "DEFAULT_TARGET_LAYER_IDS_WARNING": "",
    }
    resolve = evaluate(find_function(text, "resolve_target_layer_ids"), names)
    rule = dialect("speculators", version)
    assert rule.resolve(None, N).boundaries == (*resolve(None, "verifier"), N)
    for ids in LISTS:
        try:
            resolve(list(ids), "verifier")
        except ValueError:
            assert rule.resolve(ids, N).outcome is Outcome.CRASHES_AT_START, ids
        else:
            assert rule.resolve(ids, N).outcome is not Outcome.CRASHES_AT_START, ids


def test_specforge_takes_three_non_negative_ids_and_leaves_the_rest_to_sglang(sources: Sources) -> None:
    text = sources.text("specforge", "0.2.0", "specforge/algorithms/model_providers.py")
    resolve = evaluate(find_function(text, "resolve_eagle_capture_layers"))
    target = SimpleNamespace(num_hidden_layers=N)
    sglang, rule = dialect("sglang", "0.5.14"), dialect("specforge", "0.2.0")
    for ids in [None, *LISTS]:
        run = SimpleNamespace(model=SimpleNamespace(aux_hidden_state_layer_ids=None if ids is None else list(ids)))
        try:
            passed_on = resolve(run, {}, target)
        except ValueError:
            assert rule.resolve(ids, N).outcome is Outcome.CRASHES_AT_START, ids
            continue
        assert rule.resolve(ids, N) == sglang.resolve(passed_on, N), ids
    capture = sources.text("specforge", "0.2.0", "specforge/offline_capture/sglang_backend/capture.py")
    assert "set_eagle3_layers_to_capture(layer_ids)" in capture
    assert "sglang==0.5.14" in sources.text("specforge", "0.2.0", "specforge-0.2.0.dist-info/METADATA")


@pytest.mark.parametrize(
    ("version", "file"), [("0.40.0", "transformers"), ("0.43.0", "transformers"), ("0.47.0", "hf_eagle")]
)
def test_modelopt_hooks_the_layers_that_the_list_names(sources: Sources, version: str, file: str) -> None:
    text = sources.text("nvidia-modelopt", version, f"modelopt/torch/speculative/plugins/{file}.py")
    loops = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.For) and "eagle_aux_hidden_state_layer_ids" in ast.unparse(node)
    ]
    (loop,) = loops
    assert ast.unparse(loop).splitlines() == [
        "for layer_idx, layer in enumerate(self._base_model.layers):",
        "    if layer_idx in self.eagle_config.eagle_aux_hidden_state_layer_ids:",
        "        layer.register_forward_hook(self._collect_aux_hidden_states_forward_hook)",
    ]
    rule = dialect("modelopt", version)
    for ids in LISTS:
        hooked = tuple(index + 1 for index in range(N) if index in ids)
        assert rule.resolve(ids, N).boundaries == hooked, ids
    assert modelopt_default(text, N) == sorted(k - 1 for k in rule.resolve(None, N).boundaries)
    assert modelopt_default(text, 4) == sorted(k - 1 for k in rule.resolve(None, 4).boundaries)


def modelopt_default(text: str, layers: int) -> list[int]:
    names: dict[str, Any] = {}
    if "def default_eagle_aux_layer_ids" in text:
        names["default_eagle_aux_layer_ids"] = evaluate(find_function(text, "default_eagle_aux_layer_ids"))
    set_default = evaluate(find_method(text, "HFEagleModel", "_set_default_aux_hidden_state_layers"), names)
    model = SimpleNamespace(
        eagle_config=SimpleNamespace(),
        eagle_offline=False,
        config=SimpleNamespace(num_hidden_layers=layers),
        _base_llm_config=SimpleNamespace(num_hidden_layers=layers),
    )
    set_default(model)
    return sorted(model.eagle_config.eagle_aux_hidden_state_layer_ids)


def test_angelslim_picks_from_hidden_states_one_further_on(sources: Sources) -> None:
    path = "angelslim/compressor/speculative/train/models/target/target_model_wrapper.py"
    text = sources.text("angelslim", "0.5.0", path)
    extract = evaluate(
        find_function(text, "_extract_auxiliary_hidden_states"),
        {"torch": SimpleNamespace(cat=lambda picked, **_: tuple(picked))},
    )
    default = evaluate(find_function(text, "_get_default_aux_layer_ids"))
    model = SimpleNamespace(
        model=SimpleNamespace(config=SimpleNamespace(num_hidden_layers=N)),
        _get_default_aux_layer_ids=lambda total: default(None, total),
    )
    rule = dialect("angelslim", "0.5.0")
    for ids in [None, *permutations(range(-N - 3, N + 2), 3)]:
        try:
            picked = extract(model, tuple(range(N + 1)), None if ids is None else list(ids))
        except IndexError:
            assert rule.resolve(ids, N).outcome is Outcome.CRASHES_AT_FIRST_FORWARD, ids
        else:
            assert rule.resolve(ids, N).boundaries == picked, ids
