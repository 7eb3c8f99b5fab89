"""Every rule of every tool in words: what telling lists come to, which lists give telling layouts, or why none does.

Snapshots, so that a change of a rule or of a message is read in a diff.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.contract import Contract, list_catalog, load_contract
from eagle3_contracts.dialects import DIALECTS, TOOLS, Dialect, Inverse, Tool, invert
from eagle3_contracts.dialects.explaining import explain
from support.snapshots import compare_snapshot, list_unused

SNAPSHOTS = Path(__file__).parent / "snapshots"
LAYERS, FEW = 8, 5
PRE, POST = Tap(LAYERS, "pre_norm"), Tap(LAYERS, "post_norm")
LISTS: tuple[tuple[int, ...] | None, ...] = (
    None,
    (),
    *((1,), (1, 3), (1, 3, 4), (2, 4, 5), (1, 3, 4, 7), (2, 4, 5, 8)),
    *((5, 2, 4), (0, 3, 7), (-1, 2, 5), (-2, 1, 4), (2, 2, 5), (1, 8, 9), (-9, -8, 2)),
)
LAYOUTS: tuple[tuple[Tap, ...], ...] = (
    (),
    *((Tap(2),), (Tap(1),), (Tap(0),), (Tap(9),)),
    *((Tap(2), Tap(4)), (Tap(2), Tap(4), Tap(5)), (Tap(5), Tap(4), Tap(2)), (Tap(0), Tap(3), Tap(5))),
    *((Tap(2), Tap(4), Tap(5), PRE), (Tap(2), Tap(4), Tap(5), POST), (Tap(1), Tap(3), Tap(5)), (Tap(3), PRE, POST)),
    *((Tap(2), Tap(2), Tap(4)), (Tap(0), Tap(9), POST), (Tap(2, "branch"), Tap(4, "branch"), Tap(5, "branch"))),
)


def rules(tool: Tool) -> Iterator[tuple[Dialect, str]]:
    """Give one dialect for each rule of a tool, and where that rule holds."""
    seen: dict[object, list[Dialect]] = {}
    for dialect in DIALECTS:
        if dialect.tool is tool:
            seen.setdefault(dialect.rule, []).append(dialect)
    for dialects in seen.values():
        held = (f"{item.label} ({', '.join(item.architectures) or 'every architecture'})" for item in dialects)
        yield dialects[0], "\n   ".join(held)


def say(taps: Iterable[Tap]) -> str:
    return ", ".join(f"{tap}{' before the norm' if tap.state == 'pre_norm' else ''}" for tap in taps) or "nothing"


def tell_list(dialect: Dialect, ids: tuple[int, ...] | None, layers: int) -> str:
    found = dialect.resolve(ids, layers)
    parts = [say(found.taps), f"ignores {list(found.ignored)}" if found.ignored else ""]
    parts += ["" if found.runs else str(found.outcome), found.note]
    return "; ".join(part for part in parts if part)


def tell_layout(dialect: Dialect, layout: tuple[Tap, ...]) -> str:
    found = invert(dialect, layout, LAYERS)
    if not isinstance(found, Inverse):
        return found.reason
    lists = ", ".join(str(list(ids)) for ids in found.lists[:4])
    parts = [f"{len(found.lists)}: {lists}" if lists else "", "no list" if found.default else "", found.note]
    return "; ".join(part for part in parts if part)


def tell_rule(dialect: Dialect) -> Iterator[str]:
    """Say what each list comes to and what gives each layout, those that come to the same on one line."""
    for head, layers, lists in (("", LAYERS, LISTS), (f"of {FEW} layers, ", FEW, (None, (1, 2, 4)))):
        same: dict[str, list[str]] = {}
        for ids in lists:
            same.setdefault(tell_list(dialect, ids, layers), []).append("no list" if ids is None else str(list(ids)))
        yield from (f"  {head}{' or '.join(words)}: {told}" for told, words in same.items())
    given: dict[str, list[str]] = {}
    for layout in LAYOUTS:
        given.setdefault(tell_layout(dialect, layout), []).append(f"({say(layout)})")
    yield from (f"  {' or '.join(words)} <- {told}" for told, words in given.items())


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_lists_come_to_and_what_gives_a_layout(tool: Tool) -> None:
    blocks = ["\n".join([f"== {held}", *tell_rule(dialect)]) for dialect, held in rules(tool)]
    compare_snapshot(SNAPSHOTS / f"{tool.name}.txt", "\n".join(blocks) + "\n")


def tell_rows(contract: Contract) -> str:
    lines = []
    for row in explain(contract)["dialects"]:
        marks = [word for word in ("served", "default") if row[word]]
        head = " ".join([row["tool"], row["versions"], row["setting"], f"to {row['purpose']}", *marks])
        lines.append(f"{' '.join(head.split())}: {row['ids']}, stable {row['stable']}, {len(row['alternatives'])} more")
        lines += [f"  {row['reason']}"] if row["reason"] else []
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("name", list_catalog())
def test_the_newest_contract_of_each_name_in_every_dialect(name: str) -> None:
    compare_snapshot(SNAPSHOTS / f"explained.{name}.txt", tell_rows(load_contract(name)))


def test_no_snapshot_is_left_over() -> None:
    used = [f"{tool.name}.txt" for tool in TOOLS] + [f"explained.{name}.txt" for name in list_catalog()]
    assert list_unused(SNAPSHOTS, used) == []
