"""Facts held against facts: what differs, where, and by how much."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from eagle3_contracts.faults.reproducing.standalone.reading import UNREAD, Facts, Table

MOST_SHOWN = 12
"""Differences told of one file; the others are counted."""


def compare_folders(expected: dict[str, Facts], observed: dict[str, Facts]) -> tuple[list[str], int]:
    """Say what differs between what should be there and what is, and at how many places."""
    lines: list[str] = []
    count = 0
    for name in sorted({*expected, *observed}):
        if name not in observed:
            found = [["expected, and it is not there"]]
        elif name not in expected:
            found = [["not expected, and it is there"]]
        else:
            found = list(compare_facts(expected[name], observed[name]))
        count += len(found)
        lines += [f"{name}: {line}" for told in found[:MOST_SHOWN] for line in told]
        lines += [f"{name}: ... and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
    return lines, count


def compare_facts(expected: Facts, observed: Facts) -> Iterator[list[str]]:
    """Give the lines that tell of each difference; of a file that cannot be read, that alone and what was read."""
    if UNREAD in observed:
        yield [f"{UNREAD}: {observed[UNREAD]}"]
        expected = {place: value for place, value in expected.items() if place in observed}
        observed = {place: value for place, value in observed.items() if place != UNREAD}
    for place in [*expected, *(place for place in observed if place not in expected)]:
        if is_opened(place, expected, observed) or is_opened(place, observed, expected):
            continue
        told = list(compare_place(place, expected, observed))
        if told:
            yield [f"{place or 'the whole'}: {line}" for line in told]


def compare_place(place: str, expected: Facts, observed: Facts) -> Iterator[str]:
    """Say what differs at one place: nothing, a line, or a line and what explains it."""
    if place not in observed:
        yield f"expected {show(expected[place])}, and it is not there"
    elif place not in expected:
        yield f"not expected, and it is {show(observed[place])}"
    elif isinstance(expected[place], Table) and isinstance(observed[place], Table):
        yield from compare_tables(place, expected, observed[place])
    elif (type(expected[place]), expected[place]) != (type(observed[place]), observed[place]):
        yield f"expected {show(expected[place])}, observed {show(observed[place])}"


def is_opened(place: str, one: Facts, other: Facts) -> bool:
    """Tell whether one side is empty at a place below which the other has something: that is told there."""
    return one.get(place, 0) in ([], {}) and place not in other and any(name.startswith(f"{place}.") for name in other)


def compare_tables(place: str, all_expected: Facts, observed: Table) -> Iterator[str]:
    """Measure how two tables differ, and say what the observed one is instead, if it is something known."""
    expected = all_expected[place]
    if (expected.shape, expected.dtype) != (observed.shape, observed.dtype):
        yield f"expected {show(expected)}, observed {show(observed)}"
        return
    wrong = [at for at, row in enumerate(expected.rows) if not same(row, observed.rows[at])]
    if not wrong:
        return
    pairs = [pair for at in wrong for pair in zip(expected.rows[at], observed.rows[at], strict=True)]
    finite = [(a, b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    whole = all(number == int(number) for pair in finite for number in pair)
    apart = math.dist([a for a, _ in finite], [b for _, b in finite])
    size = math.hypot(*(a for a, _ in finite)) or 1.0
    first = next((a, b) for a, b in pairs if not same([a], [b]))
    by_how_much = "" if whole else f", by {apart / size:.2%} of their norm"
    yield (
        f"{len(wrong)} of {len(expected.rows)} rows differ (first: {wrong[0]}){by_how_much}; "
        f"the first number that differs: expected {first[0]:.6g}, observed {first[1]:.6g}"
    )
    yield from explain(place, all_expected, observed, wrong, whole=whole)


def explain(place: str, all_expected: Facts, observed: Table, wrong: list[int], *, whole: bool) -> Iterator[str]:
    """Say what is known of the wrong rows: no numbers, zeros, those of another place, moved, scaled."""
    expected = all_expected[place]
    strange = sum(not math.isfinite(number) for at in wrong for number in observed.rows[at])
    if strange:
        yield f"{strange} numbers are infinite or none at all"
    zero = [at for at in wrong if not any(observed.rows[at])]
    if zero and len(observed.rows[0]) > 1:
        yield f"{len(zero)} rows are all zeros (first: {zero[0]})"
    others = [other for other, table in all_expected.items() if other != place and equal(table, observed)]
    if others and len(observed.rows) > 1:
        yield f"it is what should stand at {others[0]}"
    count = len(expected.rows)
    for steps in (1, -1):
        moved = [(at, at + steps) for at in range(count) if 0 <= at + steps < count]
        if count > 3 and all(same(expected.rows[there], observed.rows[at]) for at, there in moved):
            yield f"row t is what should be row t {'+' if steps > 0 else '-'} 1"
    if not whole:
        yield from explain_scale(expected, observed)


def equal(table: Any, other: Table) -> bool:
    """Tell whether two tables hold the same numbers in the same shape."""
    if not isinstance(table, Table) or table.shape != other.shape:
        return False
    return all(same(one, another) for one, another in zip(table.rows, other.rows, strict=True))


def explain_scale(expected: Table, observed: Table) -> Iterator[str]:
    """Say if every number is the same multiple of what it should be."""
    rows = zip(expected.rows, observed.rows, strict=True)
    pairs = [pair for left, right in rows for pair in zip(left, right, strict=True)]
    ratios = sorted(b / a for a, b in pairs if a and math.isfinite(b))
    if len(ratios) <= 3 or ratios[0] <= 0:
        return
    middle = ratios[len(ratios) // 2]
    if abs(middle - 1) > 0.01 and ratios[-1] - ratios[0] < 0.05 * middle:
        yield f"every number is {middle:.4g} times what it should be"


def same(one: list[float], other: list[float]) -> bool:
    """Compare two rows number by number; what is no number equals what is none."""
    return len(one) == len(other) and all(
        a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(one, other, strict=True)
    )


def show(value: Any) -> str:
    """Show a value in one line."""
    if isinstance(value, Table):
        if len(value.rows) == 1 and len(value.rows[0]) == 1:
            return f"{value.dtype} {value.rows[0][0]:.6g}"
        head = ", ".join(f"{number:.6g}" for row in value.rows[:6] for number in row[:6])[:40]
        return f"{value.dtype} {list(value.shape)} of {head}, ..."
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
