"""Verifying a version that was not read: its rule, read from the source that is installed here."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import permutations, product

from eagle3_contracts.dialects.dialect import Dialect, NotVerified
from eagle3_contracts.dialects.rule import Ids
from eagle3_contracts.dialects.sglang import SGLANG
from eagle3_contracts.dialects.sglang_rules import Capture, SglangRule
from eagle3_contracts.dialects.sglang_source import MODELS, ReadText, Setter, read_loop, read_setter
from eagle3_contracts.dialects.table import find_dialect
from eagle3_contracts.dialects.upstream import SourceError

LAYERS = 7
LISTS: tuple[Ids, ...] = (
    *permutations(range(-2, LAYERS + 2), 3),
    *product(range(-1, LAYERS + 1), repeat=2),
    *((value,) for value in range(-1, LAYERS + 1)),
)
_HANDED_ON = {
    "KimiK25ForConditionalGeneration": "DeepseekV3ForCausalLM",
    "Gemma3ForConditionalGeneration": "Gemma3ForCausalLM",
    "Llama4ForConditionalGeneration": "Llama4ForCausalLM",
}


def verify_installed(architecture: str) -> Dialect | NotVerified:
    """Hold the newest dialect of SGLang against the source of the SGLang that is installed here.

    Gives that dialect for the installed version alone if the setter treats every list of a sample alike and
    the forward pass takes planes in the same places, else ``NotVerified`` with the first difference. Only
    the setter's own few lines are run; nothing of SGLang is imported.
    """
    try:
        found = distribution(SGLANG.name)
    except PackageNotFoundError:
        return NotVerified(SGLANG.name, None, architecture, SGLANG.last_read, "SGLang is not installed here")
    return verify_source(_reader(found), found.version, architecture)


def verify_source(read: ReadText, version: str, architecture: str) -> Dialect | NotVerified:
    """Hold the nearest dialect of SGLang against a source: ``read`` gives the files below ``sglang/srt``."""
    dialect = find_dialect(SGLANG.name, version, architecture, assume=True)
    if isinstance(dialect, NotVerified):
        return dialect
    rule = dialect.rule
    read_as = _HANDED_ON.get(architecture, architecture)
    if read_as not in MODELS or not isinstance(rule, SglangRule):
        reason = "this architecture's source is not known"
    else:
        reason = _difference(read, read_as, rule)
    if reason:
        return NotVerified(SGLANG.name, version, architecture, SGLANG.last_read, reason)
    return replace(dialect, versions=f"=={version}", source=f"{dialect.source}, read from the installed {version}")


def _difference(read: ReadText, architecture: str, rule: SglangRule) -> str:
    """Say where a source and a rule part, or nothing."""
    try:
        setter, loop = read_setter(read, architecture), read_loop(read, architecture)
    except SourceError as error:
        return f"its source has another form: {error}"
    if setter is None:
        return "its model class has no set_eagle3_layers_to_capture"
    for ids in LISTS:
        made = _or_none(setter, ids)
        if made is not None and made != rule.setter(ids, LAYERS):
            return f"its setter makes {list(made)} of {list(ids)}, the dialect {list(rule.setter(ids, LAYERS))}"
    places = (loop.final, loop.embedding, loop.packed, loop.residual)
    said = (rule.capture is Capture.LAYER_INPUTS_AND_FINAL, rule.embedding, rule.packed, rule.state == "raw")
    return "" if places == said else f"its forward pass takes planes elsewhere: {loop}"


def _or_none(setter: Setter, ids: Ids) -> Ids | None:
    """Give what the setter makes of a list, None where it raises IndexError as marking a layer may."""
    try:
        return setter(ids, LAYERS)
    except IndexError:
        return None


def _reader(found: Distribution) -> ReadText:
    def read(path: str) -> str | None:
        file = found.locate_file(f"sglang/srt/{path}")
        try:
            return file.read_text()  # type: ignore[attr-defined, no-any-return, unused-ignore]
        except OSError:
            return None

    return read
