"""``inspect``: what a dataset is, without a contract."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from eagle3_contracts.commands.printing import print_json, print_lines, tabulate
from eagle3_contracts.subjects import Options
from eagle3_contracts.testing.settings import SCAN, SettingError


def add_arguments(_name: str, parser: argparse.ArgumentParser) -> None:
    """Add the path and how much of it is read."""
    parser.add_argument("path", metavar="PATH", help="a folder or a file of hidden states, perhaps FORMAT:PATH")
    parser.add_argument("--scan", choices=SCAN.choices, default=Options().scan, help=SCAN.help)


def run(arguments: argparse.Namespace) -> int:
    """Print format, shapes, norms and the contracts that can fit; 3 if something of it could not be read."""
    from eagle3_contracts.subjects.datasets import inspect_dataset

    if not arguments.path.strip():
        raise SettingError("PATH is empty, so it is not known what to inspect")
    found = inspect_dataset(arguments.path, Options(scan=arguments.scan))
    if arguments.json:
        print_json(found)
    else:
        print_lines(_describe(found))
    return 3 if found["problems"] or not found["samples"] else 0


def _describe(found: Mapping[str, Any]) -> Iterator[str]:
    written = f", written by {found['written_by']}" if found["written_by"] else ""
    yield f"{found['path']}: {found['format'] or 'no known format'}{written}"
    yield f"{found['samples']} samples; {found['files_read']} of {found['files_found']} files read ({found['scan']})"
    for item in found["signatures"]:
        yield f"\n{item['samples']} samples like {item['first']}"
        yield from (f"  {name}: {shape}" for name, shape in item["tensors"].items())
    if found["planes"]:
        yield ""
        yield from tabulate(_PLANE_HEAD, [_plane_row(plane) for plane in found["planes"]])
    for problem in found["problems"]:
        yield f"\nproblem: {problem}" if not isinstance(problem, Mapping) else f"\nproblem: {_join(problem)}"
    yield from (f"note: {note}" for note in found["notes"])
    yield ""
    fitting = [item["contract"] for item in found["contracts"] if item["fits"]]
    yield f"can be of: {', '.join(fitting) or 'no contract of the catalog'} (boundaries take the target's weights)"
    for item in found["contracts"]:
        if not item["fits"]:
            yield f"  not {item['contract']}: {'; '.join(item['reasons'])}"


_PLANE_HEAD = ("plane", "rows", "norm: median", "minimum", "maximum", "zero rows", "not finite", "embedding output")


def _plane_row(plane: Mapping[str, Any]) -> tuple[str, ...]:
    norm = plane["norm"] or {}
    told = {True: "yes", False: "no", None: "cannot tell"}[plane["embedding_output"]]
    norms = (_number(norm.get(name)) for name in ("median", "minimum", "maximum"))
    return (
        str(plane["index"]),
        str(plane["rows"]),
        *norms,
        str(plane["zero_rows"]),
        str(plane["not_finite_rows"]),
        told,
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _join(problem: Mapping[str, Any]) -> str:
    return "; ".join(f"{name} {value}" for name, value in problem.items() if value)
