"""Verifying a version that was not read: its rule, read from the source that is installed here."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from itertools import permutations, product
from pathlib import Path

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

    Gives that dialect for the installed version alone if the setter treats every list of a sample, and the absence of
    one, alike and the forward pass takes planes in the same places, else ``NotVerified`` with the first difference,
    whatever the source holds. Only the setter's own few lines are run; nothing of SGLang is imported.
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


def _difference(text: ReadText, architecture: str, rule: SglangRule) -> str:
    """Say where a source and a rule part, or nothing."""
    try:
        setter, loop = read_setter(text, architecture), read_loop(text, architecture)
    except SourceError as error:
        return f"its source has another form: {error}"
    if setter is None:
        return "its model class has no set_eagle3_layers_to_capture"
    for ids in (None, *LISTS):
        asked = rule.setter(ids, LAYERS)
        said = None if rule.unmarkable(asked, LAYERS) else asked
        try:
            made = _or_none(setter, ids)
        except Exception as error:  # noqa: BLE001 - the source is another's, and any of its lines may fail here
            return f"its setter cannot be run alone: {type(error).__name__}: {error}"
        if made != said:
            given = "no list" if ids is None else list(ids)
            return f"its setter makes {_say(made)} of {given} for {LAYERS} layers, the dialect {_say(said)}"
    places = (loop.final, loop.embedding, loop.packed, loop.residual)
    read = (rule.capture is Capture.LAYER_INPUTS_AND_FINAL, rule.embedding, rule.packed, rule.state == "raw")
    return "" if places == read else f"its forward pass takes planes elsewhere: {loop}"


def _or_none(setter: Setter, ids: Ids | None) -> Ids | None:
    """Give what the setter makes of a list, None where it raises IndexError as marking a layer may."""
    try:
        return setter(ids, LAYERS)
    except IndexError:
        return None


def _say(made: Ids | None) -> str:
    return "an IndexError" if made is None else str(list(made))


def _reader(found: Distribution) -> ReadText:
    def read(path: str) -> str | None:
        file = Path(str(found.locate_file(f"sglang/srt/{path}")))
        try:
            return file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    return read
