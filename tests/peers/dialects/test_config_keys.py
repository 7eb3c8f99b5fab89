"""Which config key carries the ids, and how wide fc is built: evaluated from SGLang's source, release by release."""

from __future__ import annotations

import ast
from types import SimpleNamespace
from typing import Any

import pytest

from eagle3_contracts.dialects.config_keys import KEY, KeyReading, read_ids
from eagle3_contracts.dialects.plane_counts import PlaneCount, read_plane_count
from eagle3_contracts.dialects.sglang import SGLANG
from eagle3_contracts.dialects.upstream import evaluate, find_function
from support.configs import configs
from support.wheels import Sources, large_wheels_wanted

VERSIONS = SGLANG.read if large_wheels_wanted() else ("0.5.9", "0.5.11", "0.5.12", "0.5.14", "0.5.16", "0.5.23")
READERS = ("model_executor/model_runner_components/spec_aux_hidden_state.py", "model_executor/model_runner.py")


def reading_statement(sources: Sources, version: str) -> ast.Try:
    """Give the statement that reads the ids from the draft's config: a try with a fallback to None."""
    for file in READERS:
        text = sources.read("sglang", version, f"sglang/srt/{file}") or ""
        for node in ast.walk(ast.parse(text if KEY in text else "")):
            if isinstance(node, ast.Try) and f'"{KEY}"' in ast.unparse(node).replace("'", '"'):
                return node
    raise AssertionError(f"sglang {version} reads {KEY} in another form: read it anew")


def function_of(statements: list[ast.stmt], *arguments: str) -> ast.FunctionDef:
    """Wrap statements into a function of the names that they use."""
    listed = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in arguments], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    made = ast.FunctionDef(name="statements", args=listed, body=statements, decorator_list=[])
    return ast.fix_missing_locations(ast.copy_location(made, statements[0]))


@pytest.mark.parametrize("version", VERSIONS)
def test_sglang_reads_the_key_that_the_table_says(sources: Sources, version: str) -> None:
    names = {"Exception": Exception}
    run = evaluate(function_of([reading_statement(sources, version)], "self", "config", "draft_model_config"), names)
    for config in configs():
        holder: Any = SimpleNamespace()
        run(holder, holder, SimpleNamespace(hf_config=SimpleNamespace(**config)))
        found = holder.eagle_aux_hidden_state_layer_ids
        reading = read_ids("sglang", version, config)
        assert isinstance(reading, KeyReading)
        assert reading.ids == (None if found is None else tuple(found)), config


@pytest.mark.parametrize("version", [v for v in VERSIONS if v not in {"0.5.9", "0.5.10", "0.5.10.post1", "0.5.11"}])
def test_sglang_builds_fc_as_wide_as_the_table_says(sources: Sources, version: str) -> None:
    text = sources.text("sglang", version, "sglang/srt/models/llama_eagle3.py")
    counting = [
        node
        for parent in ast.walk(ast.parse(text))
        if isinstance(parent, ast.FunctionDef) and parent.name == "__init__"
        for node in parent.body
        if isinstance(node, ast.Assign | ast.If)
        and "self.num_aux_hidden_states = " in ast.unparse(node)
        and "fc" not in ast.unparse(node)
    ]
    llama = evaluate(function_of(list(counting), "self", "config"))
    kimi_text = sources.text("sglang", version, "sglang/srt/models/kimi_k25_eagle3.py")
    kimi = evaluate(find_function(kimi_text, "_get_eagle_aux_layer_count"))
    for config in [*configs(), {"num_aux_hidden_states": 5, "eagle_config": {KEY: [1, 2]}}]:
        holder: Any = SimpleNamespace()
        llama(holder, SimpleNamespace(**config))
        assert_count(read_plane_count("sglang", version, "llama", config), holder.num_aux_hidden_states, config)
        assert_count(read_plane_count("sglang", version, "kimi", config), kimi(SimpleNamespace(**config)), config)


def assert_count(found: object, expected: int, config: dict[str, Any]) -> None:
    assert isinstance(found, PlaneCount)
    assert found.count == expected, config
