"""vLLM's dialects and config keys, evaluated from its wheels (300 MB each: with PEER_LARGE_WHEELS only)."""

from __future__ import annotations

import ast
from itertools import permutations, product
from types import SimpleNamespace
from typing import Any

import pytest

from eagle3_contracts.dialects import Dialect
from eagle3_contracts.dialects.config_keys import KeyReading, read_ids
from eagle3_contracts.dialects.plane_counts import PlaneCount, read_plane_count
from eagle3_contracts.dialects.rule import LayerRule
from eagle3_contracts.dialects.unsupported import UnsupportedRule
from eagle3_contracts.dialects.upstream import evaluate, find_function, find_method
from eagle3_contracts.dialects.vllm import DIALECTS, MIXIN, VLLM, WITHOUT
from support.configs import KEY, configs
from support.wheels import Sources, large_wheels_wanted

pytestmark = pytest.mark.skipif(not large_wheels_wanted(), reason="vLLM's wheels are large: set PEER_LARGE_WHEELS=1")
V1 = "vllm/v1/worker/gpu_model_runner.py"
V2 = "vllm/v1/worker/gpu/spec_decode/eagle/eagle3_utils.py"
MODELS = "vllm/model_executor/models"


def dialect_of(architecture: str, version: str) -> Dialect:
    (found,) = (item for item in DIALECTS if item.applies_to(architecture) and item.covers(version))
    return found


def speculative(config: dict[str, Any]) -> Any:
    hf_config = SimpleNamespace(**config)
    return SimpleNamespace(draft_model_config=SimpleNamespace(hf_config=hf_config))


@pytest.mark.parametrize("version", VLLM.read)
@pytest.mark.parametrize("runner", ["v1", "v2"])
def test_each_runner_reads_the_keys_that_the_table_says(sources: Sources, version: str, runner: str) -> None:
    if runner == "v1":
        method = find_method(sources.text("vllm", version, V1), "GPUModelRunner", "_get_eagle3_aux_layers_from_config")
        read = evaluate(method)
    else:
        read = evaluate(find_function(sources.text("vllm", version, V2), "get_eagle3_aux_layers_from_config"))
    for config in configs():
        spec_config = speculative(config)
        found = read(SimpleNamespace(speculative_config=spec_config) if runner == "v1" else spec_config)
        reading = read_ids("vllm", version, config, runner=runner)
        assert isinstance(reading, KeyReading)
        assert reading.ids == found, config


@pytest.mark.parametrize("version", VLLM.read)
def test_the_mixin_captures_the_boundaries_of_the_dialect(sources: Sources, version: str) -> None:
    text = sources.text("vllm", version, f"{MODELS}/interfaces.py")
    tree = find_method(text, "EagleModelMixin", "_set_aux_hidden_state_layers")
    tree.body = [node for node in tree.body if "aux_hidden_state_layers" in ast.unparse(node)]
    setter = evaluate(tree)
    keep = evaluate(find_method(text, "EagleModelMixin", "_maybe_add_hidden_state"))
    rule = dialect_of("LlamaForCausalLM", version).rule
    layers = 7
    for ids in [*permutations(range(-1, layers + 2), 3), *product(range(layers + 1), repeat=2)]:
        model = SimpleNamespace()
        setter(model, ids)
        taken: list[int] = []
        for boundary in range(layers + 1):
            keep(model, taken, boundary, boundary, None)
        assert rule.resolve(ids, layers).boundaries == tuple(taken), ids


@pytest.mark.parametrize("version", VLLM.read)
@pytest.mark.parametrize("file", ["llama", "qwen2", "qwen3_moe", "gpt_oss", "minimax_m2"])
def test_the_loops_offer_every_boundary_to_the_mixin(sources: Sources, version: str, file: str) -> None:
    text = sources.text("vllm", version, f"{MODELS}/{file}.py")
    calls = [
        ast.unparse(node.args[1])
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "self._maybe_add_hidden_state"
    ]
    assert set(calls) <= {"0", "self.start_layer", "idx + 1", "i + 1", "layer_idx + 1"}
    assert len(calls) == 2


@pytest.mark.parametrize("version", VLLM.read)
def test_deepseek_adds_a_residual_that_is_not_there_before_layer_0(sources: Sources, version: str) -> None:
    text = sources.text("vllm", version, f"{MODELS}/deepseek_v2.py")
    forward = ast.unparse(find_method(text, "DeepseekV2Model", "forward"))
    rule = dialect_of("KimiK25ForConditionalGeneration", version).rule
    assert isinstance(rule, LayerRule)
    assert ("self.end_layer in self.aux_hidden_state_layers" in forward) == (rule.final is not None)
    assert "residual = None" in forward
    assert "hidden_states + residual" in forward
    assert "if residual is" not in forward
    assert rule.first == 1


@pytest.mark.parametrize("version", VLLM.read)
def test_classes_implement_the_interface_or_not_as_the_table_says(sources: Sources, version: str) -> None:
    registry = sources.text("vllm", version, f"{MODELS}/registry.py")
    entries = {
        ast.literal_eval(key): ast.literal_eval(value)
        for node in ast.walk(ast.parse(registry))
        if isinstance(node, ast.Dict)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Tuple)
    }
    for architecture in (*MIXIN, *WITHOUT):
        module, class_name = entries[architecture][:2]
        supported = implements(sources, version, module, class_name)
        assert supported != isinstance(dialect_of(architecture, version).rule, UnsupportedRule), architecture


def implements(sources: Sources, version: str, module: str, class_name: str) -> bool:
    """Tell whether a class has SupportsEagle3 among its bases, here or where its bases are imported from."""
    text = sources.text("vllm", version, f"{MODELS}/{module}.py")
    tree = ast.parse(text)
    bases = [
        ast.unparse(base)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == class_name
        for base in node.bases
    ]
    imported = {
        name.name: (node.module or "").rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    for base in bases:
        home = module if base in own else imported.get(base, "")
        if base == "SupportsEagle3" or (base not in {"", class_name} and exists(sources, version, home, base)):
            return True
    return False


def exists(sources: Sources, version: str, module: str, class_name: str) -> bool:
    return sources.read("vllm", version, f"{MODELS}/{module}.py") is not None and implements(
        sources, version, module, class_name
    )


@pytest.mark.parametrize("version", VLLM.read)
@pytest.mark.parametrize("drafter", ["llama", "deepseek", "qwen3"])
def test_fc_is_as_wide_as_the_table_says(sources: Sources, version: str, drafter: str) -> None:
    text = sources.read("vllm", version, f"{MODELS}/{drafter}_eagle3.py")
    table = read_plane_count("vllm", version, drafter, {})
    if text is None:
        assert not isinstance(table, PlaneCount)
        return
    keys = [key for key in ("num_aux_layers", "num_aux_hidden_states", KEY) if f'"{key}"' in text]
    nested_only = f'eagle_config.get("{KEY}")' in text and f'self.config, "{KEY}"' not in text.replace("\n", "")
    config = {KEY: [1, 2], "eagle_config": {KEY: [1, 2, 3, 4]}}
    assert isinstance(read_plane_count("vllm", version, drafter, config), PlaneCount)
    assert keys[-1] == KEY
    assert ("num_aux_layers" in keys) == (drafter == "qwen3")
    assert nested_only == (drafter != "qwen3")
