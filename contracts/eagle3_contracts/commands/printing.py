"""Printing to standard output: lines without control characters, tables, JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from eagle3_contracts.reports.json_report import dump_json
from eagle3_contracts.reports.terminal import plain


def print_lines(lines: Iterable[str]) -> None:
    """Print lines; names that come from files are shown without what would drive a terminal."""
    for line in lines:
        sys.stdout.write("\n".join(plain(part) for part in line.split("\n")) + "\n")


def print_json(values: object) -> None:
    """Print one JSON document."""
    sys.stdout.write(dump_json(values).encode(errors="backslashreplace").decode() + "\n")


def tabulate(head: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Set rows under a head, each column as wide as its widest cell."""
    table = [list(head), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]
