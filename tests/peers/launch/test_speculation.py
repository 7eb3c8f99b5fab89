"""What SGLang makes of the flags of speculative decoding: its own statements and functions, taken from the wheels."""

from __future__ import annotations

import ast
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from eagle3_contracts.dialects.config_keys import KEY
from eagle3_contracts.dialects.sglang import SGLANG
from eagle3_contracts.dialects.upstream import evaluate, find_class, find_function
from eagle3_contracts.launchers.speculation import (
    CASE_MATTERS_BEFORE,
    FAMILIAR,
    OTHER_DEFAULT,
    Drafting,
    draft_effect,
)
from support.wheels import Sources, large_wheels_wanted

torch = pytest.importorskip("torch", reason="the tree's candidates are counted with torch")

CHANGES = ("0.5.9", "0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.16", "0.5.18", "0.5.20", "0.5.21", "0.5.23")
VERSIONS = SGLANG.read if large_wheels_wanted() else CHANGES
HOOK, ARGS = "sglang/srt/arg_groups/speculative_hook.py", "sglang/srt/server_args.py"
HOLDERS = {"self", "server_args", "cfg"}


def texts(sources: Sources, version: str, *members: str) -> list[str]:
    return [text for member in members if (text := sources.read("sglang", version, member)) is not None]


def statements(sources: Sources, version: str, *pieces: str) -> list[ast.If]:
    """Give the conditions that hold all these pieces."""
    return [
        node
        for text in texts(sources, version, HOOK, ARGS)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.If) and all(piece in ast.unparse(node.test) for piece in pieces)
    ]


class Plain(ast.NodeTransformer):
    """Turn every holder of settings into one, and a declared resolution into assignments."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(id="held", ctx=node.ctx) if node.id in HOLDERS else node

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "declare_resolution":
            return [
                ast.Assign(
                    targets=[ast.Attribute(ast.Name("held", ast.Load()), word.arg or "", ast.Store())],
                    value=self.visit(word.value),
                )
                for word in call.keywords
            ]
        return ast.Pass() if "logger" in ast.unparse(node) else self.generic_visit(node)


def function_of(statement: ast.stmt) -> ast.FunctionDef:
    listed = ast.arguments(posonlyargs=[], args=[ast.arg(arg="held")], kwonlyargs=[], kw_defaults=[], defaults=[])
    made = ast.FunctionDef(name="rule", args=listed, body=[Plain().visit(statement)], decorator_list=[])
    return ast.fix_missing_locations(ast.copy_location(made, statement))


@pytest.mark.parametrize("version", VERSIONS)
def test_topk_1_rewrites_the_number_of_draft_tokens(sources: Sources, version: str) -> None:
    (statement,) = statements(sources, version, "speculative_eagle_topk == 1", "speculative_num_draft_tokens !=")
    rule = evaluate(function_of(statement))
    for steps, topk, tokens in product((1, 2, 3, 15), (1, 2, 4), (2, 4, 16)):
        held = SimpleNamespace(
            speculative_num_steps=steps, speculative_eagle_topk=topk, speculative_num_draft_tokens=tokens
        )
        rule(held)
        effect = draft_effect("sglang", Drafting(steps, topk, tokens), "LlamaForCausalLM")
        assert effect.tokens in {None, held.speculative_num_draft_tokens}
        assert topk > 1 or effect.tokens == held.speculative_num_draft_tokens


@pytest.mark.parametrize("version", VERSIONS)
def test_the_three_numbers_are_given_together_or_not_at_all(sources: Sources, version: str) -> None:
    found = [
        statement
        for statement in statements(sources, version, "speculative_num_steps is None")
        if isinstance(statement.body[0], ast.Assert)
    ]
    assert len(found) == 1
    demand = ast.unparse(found[0].body[0])
    assert "speculative_eagle_topk is None" in demand
    assert "speculative_num_draft_tokens is None" in demand


@pytest.mark.parametrize("version", VERSIONS)
def test_defaults_go_by_the_architecture(sources: Sources, version: str) -> None:
    name = "_auto_choose_speculative_params"
    defining = (f"def {name}(", f"def {name.removeprefix('_')}(")
    text = next(text for text in texts(sources, version, HOOK, ARGS) if any(head in text for head in defining))
    choose = find_function(text, name if f"def {name}(" in text else name.removeprefix("_"))
    run = evaluate(choose, {"resolving_view": lambda held: held})
    for architecture in ("LlamaForCausalLM", "DeepseekV3ForCausalLM", "Qwen3ForCausalLM", "Grok1ForCausalLM", "Any"):
        config = SimpleNamespace(hf_config=SimpleNamespace(architectures=[architecture]))
        held = SimpleNamespace(speculative_algorithm="EAGLE3", get_model_config=lambda config=config: config)
        chosen = run(held, architecture) if len(choose.args.args) > 1 else run(held)
        effect = draft_effect("sglang", Drafting(), architecture)
        assert effect.tokens == chosen[2], architecture
        assert architecture != "Any" or chosen == OTHER_DEFAULT


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("steps", "topk"), [(1, 2), (1, 4), (2, 2), (3, 2), (3, 4), (5, 4)])
def test_a_tree_has_as_many_candidates_as_said(sources: Sources, version: str, steps: int, topk: int) -> None:
    pool = topk + (steps - 1) * topk * topk
    scores, tokens, parents = grow_tree(sources, version, steps, topk)
    utilities = sources.text("sglang", version, "sglang/srt/speculative/eagle_utils.py")
    names = {"torch": torch, "maybe_detect_oob": lambda *_: None}
    organize = evaluate(find_function(utilities, "organize_draft_results"), names)
    kept = organize(scores, tokens, parents, pool + 1)[2]
    assert kept.shape[1] == pool
    with pytest.raises(RuntimeError, match="out of range"):
        organize(scores, tokens, parents, pool + 2)
    assert draft_effect("sglang", Drafting(steps, topk, pool + 1), "Any").outcome == "runs"
    assert draft_effect("sglang", Drafting(steps, topk, pool + 2), "Any").outcome == "stops"


def grow_tree(sources: Sources, version: str, steps: int, topk: int) -> tuple[list[Any], list[Any], list[Any]]:
    """Run SGLang's own selection for one request, over random probabilities."""
    text = sources.text("sglang", version, "sglang/srt/speculative/spec_utils.py")
    names: dict[str, Any] = {"torch": torch, "fast_topk": lambda values, count, dim: torch.topk(values, count, dim=dim)}
    for helper in ("_select_top_k_tokens_first", "_select_top_k_tokens_later"):
        if f"def {helper}(" in text:
            names[helper] = evaluate(find_function(text, helper), names)
    select = evaluate(find_function(text, "select_top_k_tokens"), names)
    made = torch.Generator().manual_seed(0)
    scores, lists = None, ([], [], [])
    for step in range(steps):
        rows = 1 if step == 0 else topk
        chance = torch.rand((rows, topk), generator=made)
        index = torch.randint(0, 100, (rows, topk), generator=made)
        hidden = torch.zeros((rows, 2))
        _, _, scores, tree = select(step, chance, index, hidden, scores, topk)
        for kept, part in zip(lists, tree, strict=True):
            kept.append(part)
    return lists


@pytest.mark.parametrize("version", VERSIONS)
def test_only_eagle3_captures_planes(sources: Sources, version: str) -> None:
    """The ids are read where the algorithm is EAGLE3, and nowhere else."""
    members = (
        "sglang/srt/model_executor/model_runner_components/spec_aux_hidden_state.py",
        "sglang/srt/model_executor/model_runner.py",
    )
    holding = [
        ast.unparse(node.test)
        for text in texts(sources, version, *members)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.If)
        and any(isinstance(part, ast.Try) and f"'{KEY}'" in ast.unparse(part) for part in node.body)
    ]
    assert len(holding) == 1
    assert "is_eagle3()" in holding[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_algorithms_are_those_that_are_known(sources: Sources, version: str) -> None:
    enumeration = find_class(
        sources.text("sglang", version, "sglang/srt/speculative/spec_info.py"), "SpeculativeAlgorithm"
    )
    names = {ast.unparse(item.targets[0]) for item in enumeration.body if isinstance(item, ast.Assign)} - {"NONE"}
    assert names <= set(FAMILIAR["sglang"])
    raised = any("speculative_algorithm.upper()" in text for text in texts(sources, version, HOOK, ARGS))
    assert raised == (SGLANG.read.index(version) >= SGLANG.read.index(CASE_MATTERS_BEFORE))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_drafter_inherits_the_targets_quantisation(sources: Sources, version: str) -> None:
    members = (ARGS, "sglang/srt/arg_groups/serving_hook.py")
    found = [
        ast.unparse(node.body)
        for text in texts(sources, version, *members)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("speculative_draft_model_quantization is None")
    ]
    assert len(found) == 1
    assert ".quantization" in found[0]
    assert any("'unquant'" in ast.unparse(ast.parse(text)) for text in texts(sources, version, *members))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_longer_context_stops_the_server_or_stretches_the_drafter(sources: Sources, version: str) -> None:
    text = sources.text("sglang", version, "sglang/srt/configs/model_config.py")
    derive = ast.unparse(find_function(text, "_derive_context_length"))
    assert "envs.SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN.get()" in derive
    assert "self.hf_text_config.max_position_embeddings = context_length" in derive
    assert "raise ValueError" in derive


@pytest.mark.parametrize("version", VERSIONS)
def test_automatic_dtype_makes_float16_of_what_names_none(sources: Sources, version: str) -> None:
    text = sources.text("sglang", version, "sglang/srt/configs/model_config.py")
    names = {
        "torch": torch,
        "logger": SimpleNamespace(**dict.fromkeys(("debug", "info", "warning"), lambda *_: None)),
        "_STR_DTYPE_TO_TORCH_DTYPE": {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32},
        "str": str,
    }
    verify = evaluate(find_function(text, "_get_and_verify_dtype"), names)
    for stored, model_type, expected in (
        (None, "llama", torch.float16),
        (torch.float32, "llama", torch.float16),
        (torch.float32, "gemma3", torch.bfloat16),
        (torch.bfloat16, "llama", torch.bfloat16),
    ):
        assert verify(SimpleNamespace(dtype=stored, model_type=model_type), "auto") is expected
