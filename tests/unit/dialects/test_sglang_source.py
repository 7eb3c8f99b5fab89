"""SGLang's rule read off sources made up after its forms: every field of a loop, every way to a setter."""

from __future__ import annotations

import pytest

from eagle3_contracts.dialects.sglang_source import (
    MODELS,
    Loop,
    early_limits,
    files_with_setter,
    read_loop,
    read_setter,
)
from eagle3_contracts.dialects.upstream import SourceError
from support.sglang_sources import (
    ALONE,
    IF_FIRST_IS_1,
    SETTER,
    UNSHIFTED,
    files,
    forward,
    marking_setters,
    model_class,
    setter,
)

PLAIN = Loop(final=False, embedding=False, packed=False, residual=True, marked=False)
"""``hidden_states + residual`` on entry of a layer, and nothing else: most files before 0.5.21."""


def loop_of(**form: str) -> Loop:
    return read_loop(files(llama=model_class("LlamaModel", forward(**form))).get, "LlamaForCausalLM")


def loop(**fields: bool) -> Loop:
    values = {name: getattr(PLAIN, name) for name in Loop.__slots__} | fields
    return Loop(**values)


MAYBE = "hidden_states if residual is None else hidden_states + residual"


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ({}, PLAIN),
        ({"first": ALONE}, loop(embedding=True)),
        ({"taken": MAYBE}, loop(embedding=True)),
        ({"last": "self.end_layer"}, loop(final=True)),
        ({"last": "num_layers"}, loop(final=True)),
        ({"test": "i + 1 in self.layers_to_capture"}, loop(final=True)),
        ({"last": "self.some_layer"}, PLAIN),
        ({"container": "AuxHiddenStatePacker(len(self.layers_to_capture))"}, loop(packed=True)),
        ({"test": "layer._is_layer_to_capture"}, loop(marked=True)),
        ({"test": "getattr(layer, '_is_layer_to_capture', False)"}, loop(marked=True)),
        ({"taken": ALONE}, loop(embedding=True, residual=False)),
        ({"taken": ALONE, "layer": "hidden_states = layer(hidden_states)"}, loop(embedding=True)),
        ({"taken": ALONE, "layer": "hidden_states, residual = self.step(number)"}, loop(embedding=True)),
        ({"first": ALONE, "taken": MAYBE}, loop(embedding=True)),
    ],
)
def test_each_place_where_planes_are_taken_is_seen(form: dict[str, str], expected: Loop) -> None:
    assert loop_of(**form) == expected


@pytest.mark.parametrize(
    "test", ["number in self.taps", "number == self.layers_to_capture", "number not in self.layers_to_capture", "True"]
)
def test_a_form_that_is_not_known_is_no_rule(test: str) -> None:
    with pytest.raises(SourceError) as raised:
        loop_of(test=test)
    assert str(raised.value) == "llama.py: LlamaModel.forward takes no planes in a form that is known"


def test_a_list_that_is_not_the_planes_is_no_plane() -> None:
    lines = forward(first=ALONE).replace("aux_hidden_states.append(hidden_states)", "names.append(hidden_states)")
    assert loop_of(first=ALONE) == read_loop(files(llama=model_class("LlamaModel", lines)).get, "LlamaForCausalLM")
    elsewhere = forward().replace("aux_hidden_states.append", "self.aux_hidden_states.append")
    found = read_loop(files(llama=model_class("LlamaModel", elsewhere)).get, "LlamaForCausalLM")
    assert found.embedding


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({}, "no file models/llama.py"),
        ({"llama": "x = 1"}, "no class LlamaModel"),
        ({"llama": model_class("LlamaModel", "def step(self): pass")}, "no method LlamaModel.forward"),
        ({"llama": model_class("Llama", forward())}, "no class LlamaModel"),
    ],
)
def test_a_loop_that_is_not_where_it_was_is_told(texts: dict[str, str], says: str) -> None:
    with pytest.raises(SourceError) as raised:
        read_loop(files(**texts).get, "LlamaForCausalLM")
    assert str(raised.value) == says


def test_a_loop_of_another_file_is_read_there() -> None:
    """Llama 4 has Llama's setter and a loop of its own."""
    texts = files(
        llama=model_class("LlamaForCausalLM", setter()) + model_class("Llama4Model", forward()),
        llama4=model_class("Llama4Model", forward(last="num_layers")),
    )
    assert read_loop(texts.get, "Llama4ForCausalLM").final
    made = read_setter(texts.get, "Llama4ForCausalLM")
    assert made is not None
    assert made((1, 2), 7) == (2, 3)


def test_a_loop_that_was_inherited_is_read_in_the_base_until_the_class_has_its_own() -> None:
    """Qwen3's model took Qwen2's forward pass."""
    base = model_class("Qwen2Model", forward(last="self.end_layer"))
    inherits = model_class("Qwen3Model", "def step(self): pass", base="Qwen2Model")
    own = model_class("Qwen3Model", forward(container="AuxHiddenStatePacker(3)"), base="Qwen2Model")
    assert read_loop(files(qwen2=base, qwen3=inherits).get, "Qwen3ForCausalLM") == loop(final=True)
    assert read_loop(files(qwen2=base).get, "Qwen3ForCausalLM") == loop(final=True)
    assert read_loop(files(qwen2=base, qwen3=own).get, "Qwen3ForCausalLM") == loop(packed=True)
    other = model_class("Qwen3Other", forward())
    assert read_loop(files(qwen2=base, qwen3=inherits + other).get, "Qwen3ForCausalLM") == loop(final=True)
    with pytest.raises(SourceError, match=r"^no file models/qwen2\.py$"):
        read_loop(files(qwen3=inherits).get, "Qwen3ForCausalLM")


@pytest.mark.parametrize(
    ("listed", "ids", "expected"),
    [
        (None, (2, 30, 5), (3, 31, 6)),
        (UNSHIFTED, (2, 30, 5), (2, 30, 5)),
        (IF_FIRST_IS_1, (1, 30, 5), (2, 31, 6)),
        (IF_FIRST_IS_1, (2, 30, 5), (2, 30, 5)),
        ("sorted(layer_ids)", (2, 30, 5), (2, 5, 30)),
        ("layer_ids + [self.config.num_hidden_layers]", (2,), (2, 61)),
    ],
)
def test_a_setter_is_what_its_own_lines_do(listed: str | None, ids: tuple[int, ...], expected: tuple[int, ...]) -> None:
    text = model_class("LlamaForCausalLM", setter() if listed is None else setter(listed))
    made = read_setter(files(llama=text).get, "LlamaForCausalLM")
    assert made is not None
    assert made(ids, 61) == expected
    assert made(None, 61) == (2, 30, 58)
    assert made(ids, 61) == expected, "a call left something behind"


FORMS = {
    "a language model": setter(into="self.language_model"),
    "a nested config": setter().replace("self.config.", "self.config.text_config."),
    "its own pipeline group": setter().replace("get_pp_group()", "self.pp_group"),
    "a group of the parallel state": setter().replace("get_pp_group()", "get_parallel().pp_group"),
    "no pipeline": setter().replace("get_pp_group().is_last_rank", "True"),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_setter_asks_of_its_model_is_there(form: str) -> None:
    made = read_setter(files(llama=model_class("LlamaForCausalLM", FORMS[form])).get, "LlamaForCausalLM")
    assert made is not None
    assert (made(None, 32), made((4,), 32)) == ((2, 16, 29), (5,))


def test_a_setter_is_looked_for_in_the_bases_that_stand_in_the_file() -> None:
    own = model_class("DeepseekV2ForCausalLM", setter(UNSHIFTED))
    between = model_class("Between", "size = 1", base="nn.Module, DeepseekV2ForCausalLM")
    inherits = model_class("DeepseekV3ForCausalLM", "pass", base="Elsewhere, Between")
    made = read_setter(files(deepseek_v2=inherits + between + own).get, "DeepseekV3ForCausalLM")
    assert made is not None
    assert made((4,), 7) == (4,)
    overrides = model_class("DeepseekV3ForCausalLM", setter(), base="Between")
    made = read_setter(files(deepseek_v2=overrides + between + own).get, "DeepseekV3ForCausalLM")
    assert made is not None
    assert made((4,), 7) == (5,)


@pytest.mark.parametrize(
    "texts",
    [
        {},
        {"llama": "x = 1"},
        {"llama": model_class("LlamaForCausalLM", forward(), base="nn.Module")},
        {"llama": model_class("LlamaForCausalLM", base="Other") + model_class("Other", base="LlamaForCausalLM")},
        {"llama": model_class("LlamaForCausalLM", base="LlamaForCausalLM")},
        {"llama": model_class("LlamaForCausalLM") + model_class("Other", setter())},
        {"qwen2": model_class("LlamaForCausalLM", setter())},
    ],
)
def test_a_class_without_a_setter_has_none(texts: dict[str, str]) -> None:
    assert read_setter(files(**texts).get, "LlamaForCausalLM") is None


def test_a_setter_that_a_class_of_another_file_gave_is_read_there_unless_the_class_has_its_own() -> None:
    """GLM-4.7-Flash inherited DeepSeek's setter and loop."""
    deepseek = model_class("DeepseekV2ForCausalLM", setter(UNSHIFTED)) + model_class("DeepseekV2Model", forward())
    inherits, own = model_class("Glm4MoeLiteForCausalLM"), model_class("Glm4MoeLiteForCausalLM", setter())
    name = "Glm4MoeLiteForCausalLM"
    inherited = read_setter(files(deepseek_v2=deepseek, glm4_moe_lite=inherits).get, name)
    assert inherited is not None
    assert inherited((4,), 7) == (4,)
    found = read_setter(files(deepseek_v2=deepseek, glm4_moe_lite=own).get, name)
    assert found is not None
    assert found((4,), 7) == (5,)
    assert read_setter(files(deepseek_v2=deepseek).get, name) is None, "the class itself is not in this version"
    assert read_setter(files(glm4_moe_lite=inherits).get, name) is None
    assert read_loop(files(deepseek_v2=deepseek, glm4_moe_lite=inherits).get, name) == PLAIN


def test_marked_layers_count_from_the_end_and_stop_the_start_beyond_it() -> None:
    outer, inner = marking_setters()
    text = model_class("Qwen2MoeModel", inner) + model_class("Qwen2MoeForCausalLM", outer)
    made = read_setter(files(qwen2_moe=text).get, "Qwen2MoeForCausalLM")
    assert made is not None
    assert made((-8, -2, 5), 7) == (-7, -1, 6)
    for outside in (-9, 6):
        with pytest.raises(IndexError):
            made((outside,), 7)
    assert made(None, 7) == (2, 3, 4)


def test_marks_are_set_by_the_inner_model_of_the_loops_file() -> None:
    """Qwen3-MoE hands its list to Qwen2-MoE's model."""
    outer, inner = marking_setters()
    texts = files(
        qwen3_moe=model_class("Qwen3MoeForCausalLM", outer),
        qwen2_moe=model_class("Qwen2MoeModel", inner, forward(test="layer._is_layer_to_capture")),
    )
    made = read_setter(texts.get, "Qwen3MoeForCausalLM")
    assert made is not None
    assert made((1, 2), 7) == (2, 3)
    with pytest.raises(IndexError):
        made((7,), 7)
    assert read_loop(texts.get, "Qwen3MoeForCausalLM") == loop(marked=True)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ({}, (False, True)),
        ({"model_executor/cuda_graph_runner.py": f"runner.model.{SETTER}()"}, (True, True)),
        ({"model_executor/cuda_graph_runner.py": f"runner.model. {SETTER} ( )"}, (True, True)),
        ({"model_executor/cuda_graph_runner.py": f"runner.model.{SETTER}(ids)"}, (False, True)),
        ({"models/llama_eagle3.py": "fc = Linear(config.num_aux_hidden_states * width)"}, (False, False)),
        ({"models/llama_eagle3.py": "fc = Linear(3 * width)"}, (False, True)),
    ],
)
def test_early_limits_are_read_in_the_runner_and_the_drafter(
    texts: dict[str, str], expected: tuple[bool, bool]
) -> None:
    assert early_limits(texts.get) == expected


def test_files_that_define_a_setter_are_named_in_their_order() -> None:
    texts = files(zeta=model_class("Any", setter()), alpha=f"model.{SETTER}()", beta=model_class("Any", setter()))
    assert files_with_setter(texts.get, iter(["zeta.py", "alpha.py", "gone.py", "beta.py"])) == ("zeta.py", "beta.py")


@pytest.mark.parametrize("architecture", MODELS)
def test_every_architecture_is_read_where_the_table_says(architecture: str) -> None:
    """Its class has the setter, its loop's class the loop; without one of the two files nothing is made up."""
    model = MODELS[architecture]
    names = {model.file: "", model.loop_file: ""}
    names[model.file] += model_class(model.class_name, setter(UNSHIFTED))
    names[model.loop_file] += model_class(model.loop_class, forward(last="num_layers"))
    texts = {f"models/{file}": text for file, text in names.items()}
    made = read_setter(texts.get, architecture)
    assert made is not None
    assert made((4, 2), 9) == (4, 2)
    assert read_loop(texts.get, architecture) == loop(final=True)
    without = {path: text for path, text in texts.items() if path != f"models/{model.file}"}
    assert read_setter(without.get, architecture) is None
