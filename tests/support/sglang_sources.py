"""Sources of model classes made up after the forms that SGLang uses: a setter of ids, and a loop that takes planes."""

from __future__ import annotations

from textwrap import dedent, indent

SETTER = "set_eagle3_layers_to_capture"
ADDED, ALONE = "hidden_states + residual", "hidden_states"
PLUS_ONE = "[number + 1 for number in layer_ids]"
UNSHIFTED = "layer_ids"
IF_FIRST_IS_1 = "[number + 1 for number in layer_ids] if layer_ids and layer_ids[0] == 1 else layer_ids"


def setter(listed: str = PLUS_ONE, default: str = "[2, n // 2, n - 3]", into: str = "self.model") -> str:
    """Write a method that keeps ``listed`` of a list and ``default`` without one."""
    return dedent(f"""
    def {SETTER}(self, layer_ids: Optional[List[int]] = None) -> None:
        if not get_pp_group().is_last_rank:
            return
        self.capture_aux_hidden_states = True
        n = self.config.num_hidden_layers
        {into}.layers_to_capture = {default} if layer_ids is None else {listed}
    """)


def marking_setters() -> tuple[str, str]:
    """Write the two methods of a model whose layers bear a mark: the outer one hands on, the inner one marks."""
    outer = dedent(f"""
    def {SETTER}(self, layer_ids=None):
        n = self.config.num_hidden_layers
        self.model.{SETTER}([2, n // 2, n - 3] if layer_ids is None else {PLUS_ONE})
    """)
    inner = dedent(f"""
    def {SETTER}(self, marked: list[int]):
        self.layers_to_capture = marked
        for number in marked:
            setattr(self.layers[number], "_is_layer_to_capture", True)
    """)
    return outer, inner


def forward(
    *, first: str = ADDED, taken: str = ADDED, last: str = "", container: str = "[]", test: str = "", layer: str = ""
) -> str:
    """Write a forward pass.

    ``first``: what is taken before the loop, by a test on the first layer, if it is not ``ADDED``. ``taken``: what is
    taken on entry of a layer. ``last``: what names the boundary after the last layer. ``test``: what decides on it.
    """
    test = test or "number in self.layers_to_capture"
    layer = layer or "hidden_states, residual = layer(hidden_states, residual)"
    lines = ["def forward(self, ids):", "    hidden_states, residual = (self.embed_tokens(ids), None)"]
    lines += [f"    aux_hidden_states = {container}"]
    if first != ADDED:
        lines += ["    if self.start_layer in self.layers_to_capture:", f"        aux_hidden_states.append({first})"]
    lines += ["    for number in range(self.start_layer, self.end_layer):", "        layer = self.layers[number]"]
    lines += [f"        if {test}:", f"            aux_hidden_states.append({taken})", f"        {layer}"]
    if last:
        lines += [f"    if {last} in self.layers_to_capture:", f"        aux_hidden_states.append({taken})"]
    return "\n".join([*lines, "    return (hidden_states, aux_hidden_states)"])


def model_class(name: str, *methods: str, base: str = "") -> str:
    """Write a class of methods."""
    return f"class {name}({base}):\n" + indent("\n".join(methods) or "pass", "    ") + "\n"


def files(**texts: str) -> dict[str, str]:
    """Give the model files by their paths below ``sglang/srt``: ``llama=...`` is ``models/llama.py``."""
    return {f"models/{name}.py": text for name, text in texts.items()}
