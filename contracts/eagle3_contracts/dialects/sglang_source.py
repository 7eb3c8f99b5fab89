"""SGLang's rule as its source states it, model file by model file: what the dialects are compared with.

The setter is evaluated on a stand-in for the model; of the forward pass, the places where planes are taken
are found by their form. A form that is not known raises ``SourceError``: the rule must be read anew.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from eagle3_contracts.dialects.rule import Ids
from eagle3_contracts.dialects.upstream import SourceError, evaluate, find_class, find_method, methods

SETTER = "set_eagle3_layers_to_capture"
ReadText = Callable[[str], str | None]
"""Give the text of a file under ``sglang/srt``, or None if there is none."""
Setter = Callable[[Ids | None, int], Ids]
"""What the setter asks the forward pass for: a function of the ids (or None) and n."""


@dataclass(frozen=True, slots=True)
class Loop:
    """Where one model's forward pass takes planes.

    ``final``: also after the last layer. ``embedding``: also before layer 0. ``packed``: a packer counts them.
    ``residual``: the residual is added to what is taken. ``marked``: by a mark on the layer, not by its index.
    """

    final: bool
    embedding: bool
    packed: bool
    residual: bool
    marked: bool


@dataclass(frozen=True, slots=True)
class Model:
    """Where a model's rule stands: the class with the setter and the class with the loop.

    ``setter_base``, ``loop_base``: where they came from before the class had its own.
    """

    file: str
    class_name: str
    loop_file: str
    loop_class: str
    setter_base: tuple[str, str] | None = None
    loop_base: tuple[str, str] | None = None


def _model(file: str, class_name: str, loop_class: str, loop_file: str = "") -> Model:
    return Model(f"{file}.py", class_name, f"{loop_file or file}.py", loop_class)


MODELS: dict[str, Model] = {
    "LlamaForCausalLM": _model("llama", "LlamaForCausalLM", "LlamaModel"),
    "MistralForCausalLM": _model("llama", "LlamaForCausalLM", "LlamaModel"),
    "Phi3ForCausalLM": _model("llama", "Phi3ForCausalLM", "LlamaModel"),
    "Llama4ForCausalLM": _model("llama", "LlamaForCausalLM", "Llama4Model", "llama4"),
    "Qwen2ForCausalLM": _model("qwen2", "Qwen2ForCausalLM", "Qwen2Model"),
    "Qwen2_5_VLForConditionalGeneration": _model(
        "qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", "Qwen2Model", "qwen2"
    ),
    "Qwen3ForCausalLM": Model(
        "qwen3.py", "Qwen3ForCausalLM", "qwen3.py", "Qwen3Model", loop_base=("qwen2.py", "Qwen2Model")
    ),
    "Qwen3VLForConditionalGeneration": _model("qwen3_vl", "Qwen3VLForConditionalGeneration", "Qwen3LLMModel"),
    "Qwen2MoeForCausalLM": _model("qwen2_moe", "Qwen2MoeForCausalLM", "Qwen2MoeModel"),
    "Qwen3MoeForCausalLM": _model("qwen3_moe", "Qwen3MoeForCausalLM", "Qwen2MoeModel", "qwen2_moe"),
    "Qwen3NextForCausalLM": _model("qwen3_next", "Qwen3NextForCausalLM", "Qwen3NextModel"),
    "Glm4MoeForCausalLM": _model("glm4_moe", "Glm4MoeForCausalLM", "Glm4MoeModel"),
    "Glm4MoeLiteForCausalLM": Model(
        file="glm4_moe_lite.py",
        class_name="Glm4MoeLiteForCausalLM",
        loop_file="glm4_moe_lite.py",
        loop_class="Glm4MoeLiteModel",
        setter_base=("deepseek_v2.py", "DeepseekV2ForCausalLM"),
        loop_base=("deepseek_v2.py", "DeepseekV2Model"),
    ),
    "DeepseekV2ForCausalLM": _model("deepseek_v2", "DeepseekV2ForCausalLM", "DeepseekV2Model"),
    "DeepseekV3ForCausalLM": _model("deepseek_v2", "DeepseekV3ForCausalLM", "DeepseekV2Model"),
    "DeepseekV32ForCausalLM": _model("deepseek_v2", "DeepseekV32ForCausalLM", "DeepseekV2Model"),
    "GptOssForCausalLM": _model("gpt_oss", "GptOssForCausalLM", "GptOssModel"),
    "MiniMaxM2ForCausalLM": _model("minimax_m2", "MiniMaxM2ForCausalLM", "MiniMaxM2Model"),
    "MiniMaxM3SparseForCausalLM": _model("minimax_m3", "MiniMaxM3SparseForCausalLM", "MiniMaxM3Model"),
    "MiniMaxM3SparseForConditionalGeneration": _model(
        "minimax_m3_vl", "MiniMaxM3SparseForConditionalGeneration", "MiniMaxM3Model", "minimax_m3"
    ),
    "Gemma3ForCausalLM": _model("gemma3_causal", "Gemma3ForCausalLM", "Gemma3TextModel"),
    "Gemma4ForCausalLM": _model("gemma4_causal", "Gemma4ForCausalLM", "Gemma4TextModel"),
    "Gemma4ForConditionalGeneration": _model(
        "gemma4_mm", "Gemma4ForConditionalGeneration", "Gemma4TextModel", "gemma4_causal"
    ),
}
"""By architecture. Wrappers (Kimi-K2.5, Gemma 3 and Llama 4 with images) hand the list to another of these."""


def read_setter(read: ReadText, architecture: str) -> Setter | None:
    """Give the setter of an architecture as a function of ids and n; None if the class has none."""
    model = MODELS[architecture]
    loop = read(f"models/{model.loop_file}") or ""
    marks = _defines(loop, model.loop_class, SETTER)
    marking = evaluate(find_method(loop, model.loop_class, SETTER)) if marks else None
    found = _setter(read, model.file, model.class_name, marking)
    if found is None and model.setter_base is not None and read(f"models/{model.file}") is not None:
        return _setter(read, *model.setter_base)
    return found


def read_loop(read: ReadText, architecture: str) -> Loop:
    """Read where the forward pass of an architecture takes planes."""
    model = MODELS[architecture]
    text = read(f"models/{model.loop_file}") or ""
    if model.loop_base is not None and not _defines(text, model.loop_class, "forward"):
        return _loop(read, *model.loop_base)
    return _loop(read, model.loop_file, model.loop_class)


def _setter(read: ReadText, file: str, class_name: str, marking: Callable[..., Any] | None = None) -> Setter | None:
    """Give the setter of a model class as a function of ids and n; None if the class has none.

    Follows base classes within the file. ``marking``: the inner model's own setter, which marks layers. An
    ``IndexError`` comes through: SGLang does not start then.
    """
    text = read(f"models/{file}")
    if text is None:
        return None
    owner = _owner(text, class_name)
    if owner is None:
        return None
    function = find_method(text, owner, SETTER)
    names = {"get_pp_group": lambda: _LAST_RANK, "get_parallel": lambda: SimpleNamespace(pp_group=_LAST_RANK)}
    setter = evaluate(function, names)

    def boundaries(ids: Ids | None, layers: int) -> Ids:
        model = _stand_in(layers, marking)
        setter(model, None if ids is None else list(ids))
        return tuple(model.model.layers_to_capture)

    return boundaries


def _loop(read: ReadText, file: str, class_name: str) -> Loop:
    """Read where the forward pass of a model class (the inner one, with the layers) takes planes."""
    text = read(f"models/{file}")
    if text is None:
        raise SourceError(f"no file models/{file}")
    forward = find_method(text, class_name, "forward")
    tests = [node for node in ast.walk(forward) if isinstance(node, ast.Compare) and _is_capture_test(node)]
    marked = "_is_layer_to_capture" in ast.unparse(forward)
    if not tests and not marked:
        raise SourceError(f"{file}: {class_name}.forward takes no planes in a form that is known")
    left = {ast.unparse(test.left) for test in tests}
    taken = [ast.unparse(node.args[0]) for node in ast.walk(forward) if isinstance(node, ast.Call) and _appends(node)]
    return Loop(
        final=bool(left & {"num_layers", "self.end_layer", "i + 1"}),
        embedding="hidden_states + residual" not in taken or "self.start_layer" in left,
        packed="AuxHiddenStatePacker" in ast.unparse(forward),
        residual=not _splits_residual(forward, taken),
        marked=marked,
    )


def early_limits(read: ReadText) -> tuple[bool, bool]:
    """Tell whether CUDA graphs are captured with the default ids, and whether fc takes three planes always."""
    graphs = (read("model_executor/cuda_graph_runner.py") or "").replace(" ", "")
    return f".{SETTER}()" in graphs, "num_aux_hidden_states" not in (read("models/llama_eagle3.py") or "")


_LAST_RANK = SimpleNamespace(is_last_rank=True)


class _Layers(list[Any]):
    """Layers as a ModuleList holds them: negative indices count from the end, others raise IndexError."""


def _stand_in(layers: int, marking: Callable[..., Any] | None) -> SimpleNamespace:
    config = SimpleNamespace(num_hidden_layers=layers)
    config.text_config = config
    model = SimpleNamespace(layers_to_capture=[], layers=_Layers(SimpleNamespace() for _ in range(layers)))
    if marking is not None:
        setattr(model, SETTER, lambda listed: marking(model, listed))
    return SimpleNamespace(config=config, model=model, language_model=model, pp_group=_LAST_RANK)


def _owner(text: str, class_name: str, seen: tuple[str, ...] = ()) -> str | None:
    """Give the class of the file that defines the setter for a class: itself or a base."""
    try:
        found = find_class(text, class_name)
    except SourceError:
        return None
    if _defines(text, class_name, SETTER):
        return class_name
    bases = (ast.unparse(base) for base in found.bases)
    owners = (_owner(text, base, (*seen, class_name)) for base in bases if base not in seen)
    return next((owner for owner in owners if owner is not None), None)


def _defines(text: str, class_name: str, method: str) -> bool:
    return any(owner.name == class_name and item.name == method for owner, item in methods(text))


def _is_capture_test(node: ast.Compare) -> bool:
    return isinstance(node.ops[0], ast.In) and ast.unparse(node.comparators[0]) == "self.layers_to_capture"


def _appends(node: ast.Call) -> bool:
    return ast.unparse(node.func) == "aux_hidden_states.append"


def _splits_residual(forward: ast.FunctionDef, taken: list[str]) -> bool:
    """Tell whether layers return (hidden_states, residual) and planes are the first alone."""
    splits = any("hidden_states, residual = layer(" in line for line in ast.unparse(forward).splitlines())
    return splits and set(taken) == {"hidden_states"}


def files_with_setter(read: ReadText, files: Iterator[str]) -> tuple[str, ...]:
    """Give the model files that define a setter, so that a new one is noticed."""
    return tuple(file for file in files if f"def {SETTER}" in (read(f"models/{file}") or ""))
