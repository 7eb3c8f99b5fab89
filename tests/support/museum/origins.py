"""What a fault's source is: a public case, one of the same kind, a tool's source, or the rule of a format."""

from __future__ import annotations

import re
from enum import StrEnum

_KIN = "same kind: "
_WORD = r"(?:issue|PR|pull request|discussion)s?"
_NUMBERS = rf"{_WORD} #\d+(?:(?:,| and) (?:{_WORD} )?#\d+)*"
_CASE = re.compile(rf"[\w-]+/[\w.-]+ {_NUMBERS}")
_TOOLS = r"(?:SGLang|vLLM|SpecForge|speculators|hs-connectors|pytest-regressions)"
_TOOL = re.compile(rf"(?:[\w-]+/)?{_TOOLS} \d+\.\d[^,]*, \S")
_RULE = re.compile(r"RFC \d+|POSIX shell, |CVE-\d+-\d+")


class Origin(StrEnum):
    """Where a fault comes from, as the page counts it."""

    CASE = "a public case of the mechanism: repository and number"
    KIN = "a public case of the same kind, another defect (`same kind:`)"
    TOOL = "the source of a tool's release, which shows how it comes about"
    RULE = "neither: the rule of a format that leaves room for it (HTTP, JSON, shell, archives)"
    NONE = "neither: no public case is known, and the cell says so"


def find_origin(source: str) -> Origin:
    """Tell what a source is; ``ValueError`` of one that is nothing of these."""
    own, _, kin = source.partition(_KIN)
    if _CASE.search(own):
        return Origin.CASE
    if _CASE.search(kin):
        return Origin.KIN
    if _TOOL.match(own):
        return Origin.TOOL
    if _RULE.match(own):
        return Origin.RULE
    if own.startswith("no public case: "):
        return Origin.NONE
    raise ValueError(
        f"{source!r} is no OWNER/REPOSITORY issue #N or PR #N, no tool with version and file, and no rule of a format"
    )


def find_bare_numbers(source: str) -> list[str]:
    """Give the numbers of which the source does not say what they are, or of which repository."""
    return re.findall(r"#\d+", re.sub(rf"{_CASE.pattern}(?:, {_NUMBERS})*", "", source))
