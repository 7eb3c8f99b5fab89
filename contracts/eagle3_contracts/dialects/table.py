"""The one normative table: every dialect of every tool, and how one is found."""

from __future__ import annotations

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from eagle3_contracts.dialects import (
    angelslim,
    eagle,
    modelopt,
    sglang,
    specforge,
    speculators,
    tensorrt_llm,
    torchspec,
    transformers,
    vllm,
)
from eagle3_contracts.dialects.dialect import Dialect, NotVerified, Tool

TOOLS: tuple[Tool, ...] = (
    sglang.SGLANG,
    vllm.VLLM,
    tensorrt_llm.TENSORRT_LLM,
    transformers.TRANSFORMERS,
    speculators.SPECULATORS,
    specforge.SPECFORGE,
    modelopt.MODELOPT,
    angelslim.ANGELSLIM,
    torchspec.TORCHSPEC,
    eagle.EAGLE,
)
DIALECTS: tuple[Dialect, ...] = (
    *sglang.DIALECTS,
    *vllm.DIALECTS,
    *tensorrt_llm.DIALECTS,
    *transformers.DIALECTS,
    *speculators.DIALECTS,
    *specforge.DIALECTS,
    *modelopt.DIALECTS,
    *angelslim.DIALECTS,
    *torchspec.DIALECTS,
    *eagle.DIALECTS,
)
LIKE_MOST = "LlamaForCausalLM"
"""Whose dialect stands in for an architecture that was not read, when told to assume."""


def find_tool(name: str) -> Tool:
    """Give a tool by name; ``KeyError`` lists the tools there are."""
    for tool in TOOLS:
        if tool.name == name:
            return tool
    raise KeyError(f"no dialect of {name!r}; there are {', '.join(tool.name for tool in TOOLS)}")


def dialects_of(tool: Tool, architecture: str) -> Iterator[Dialect]:
    """Give a tool's dialects for an architecture, in the order of versions; none if it was not read."""
    return (dialect for dialect in DIALECTS if dialect.tool is tool and dialect.applies_to(architecture))


def find_dialect(
    tool_name: str, version: str | None, architecture: str, *, setting: str | None = None, assume: bool = False
) -> Dialect | NotVerified:
    """Find the dialect of a tool's version for an architecture, or say that it was not verified.

    ``setting``: one of several dialects within the tool; absent: its first. ``assume``: take the nearest
    dialect for a version outside the range that was read, and the common rule for an architecture that was
    not. Raises ``KeyError`` for an unknown tool or setting, ``InvalidVersion`` for a version that is none.
    """
    tool = find_tool(tool_name)
    if version is not None and tool.versioned:
        Version(version)
    asked = tuple(dialects_of(tool, architecture))
    if assume and not any(dialect.covers(version) for dialect in asked):
        # A rule of another version for every architecture is farther off than this version's common one.
        common = tuple(dialects_of(tool, LIKE_MOST))
        asked = common if not asked or any(dialect.covers(version) for dialect in common) else asked
    if not asked:
        return NotVerified(tool.name, version, architecture, tool.last_read, "this architecture's rule was not read")
    if setting is not None:
        asked = tuple(dialect for dialect in asked if dialect.setting == setting)
        if not asked:
            known = ", ".join(repr(name) for name in sorted({d.setting for d in dialects_of(tool, architecture)}))
            raise KeyError(f"{tool.name} has no setting {setting!r}; there are {known}")
    covering = [dialect for dialect in asked if dialect.covers(version)]
    if covering:
        return covering[0]
    if version is None:
        return NotVerified(tool.name, version, architecture, tool.last_read, "its rule depends on the version")
    if assume:
        return _nearest(asked, version)
    reason = "its version is outside the range read"
    if any(dialect.tool is tool and dialect.covers(version) for dialect in DIALECTS):
        reason = "this architecture's rule was not read in that version"
    return NotVerified(tool.name, version, architecture, tool.last_read, reason)


def unread_releases(tool: Tool, architecture: str) -> tuple[str, ...]:
    """Give the releases of a tool that were read for other architectures, but not for this one."""
    if not tool.versioned:
        return ()
    known = tuple(dialects_of(tool, architecture))
    return tuple(release for release in tool.read if not any(dialect.covers(release) for dialect in known))


def _nearest(dialects: tuple[Dialect, ...], version: str) -> Dialect:
    """Give the oldest dialect for a version before all of them, the newest for one after."""
    lowest = min(Version(item.version) for item in SpecifierSet(dialects[0].versions) if item.operator == ">=")
    return dialects[0] if Version(version) < lowest else dialects[-1]
