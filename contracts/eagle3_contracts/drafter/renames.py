"""How each tool's tensor names become the canonical ones, as data, and what each tool writes that no drafter reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Renames:
    """A tool's names: prefixes to replace, in this order and each at most once, and names that carry no weight.

    ``idle``: written beside the drafter and consumed by no forward (``t2d`` follows from ``d2t``; verifier_* are
    the target's own). ``source``: where the names were read.
    """

    prefixes: tuple[tuple[str, str], ...] = ()
    idle: frozenset[str] = frozenset({"t2d"})
    source: str = field(default="", kw_only=True)


_MIDLAYER = ("midlayer.", "layers.0.")

RENAMES: Mapping[str, Renames] = {
    "speculators": Renames(
        idle=frozenset({"t2d", "verifier_norm.weight", "verifier_lm_head.weight"}),
        source="speculators 0.9.0, models/eagle3/core.py: the canonical names themselves",
    ),
    "specforge": Renames(
        (("draft_model.", ""), _MIDLAYER),
        source="specforge 0.2.0, modeling/draft/llama3_eagle.py; draft_model. inside OnlineEagle3Model's state",
    ),
    "eagle": Renames((_MIDLAYER,), source="SafeAILab/EAGLE cb7e084, eagle/model/cnets.py, class Model"),
    "angelslim": Renames((_MIDLAYER,), source="angelslim 0.5.0, which writes EAGLE's names"),
    "torchspec": Renames((_MIDLAYER,), source="lightseekorg/TorchSpec 6f21829, tools/convert_to_hf.py"),
    "modelopt": Renames(
        (("eagle_module.", ""),),
        source="nvidia-modelopt 0.47.0, torch/export/plugins/hf_spec_export.py, _extract_state_dict",
    ),
}
"""By tool. A ``model.`` prefix is none of these tools' and is left for a finding to name."""


def canonical_names(names: Iterable[str], tool: str) -> dict[str, str]:
    """Map each of a tool's tensor names to its canonical one, idle names left out.

    Raises ``KeyError`` for a tool without a table, ``ValueError`` if two names become one.
    """
    rules = RENAMES[tool]
    renamed: dict[str, str] = {}
    origin: dict[str, str] = {}
    for name in names:
        canonical = _rename(name, rules.prefixes)
        if canonical in rules.idle:
            continue
        if canonical in origin:
            raise ValueError(f"{origin[canonical]!r} and {name!r} both become {canonical!r} by the names of {tool}")
        origin[canonical] = name
        renamed[name] = canonical
    return renamed


def _rename(name: str, prefixes: tuple[tuple[str, str], ...]) -> str:
    for prefix, replacement in prefixes:
        if name.startswith(prefix):
            name = replacement + name.removeprefix(prefix)
    return name
