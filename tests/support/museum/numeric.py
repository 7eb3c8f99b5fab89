"""Which clauses compare a measured number with a tolerance or a bound, read from the source of their checks.

A check is followed through every name of the package ``clauses`` that it comes to. It is numeric if that reaches a
number of ``clauses.bounds``, a number with a decimal point at the head of a module, a contract's tolerance, or the
declared range of a plane's norm.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from eagle3_contracts.registry import CLAUSES

PACKAGE = "eagle3_contracts.clauses"
TOLERANCES = frozenset({"relative_l2", "logprob"})
"""Attributes of ``Governing``: what a contract allows. A plane's declared range is ``plane.norm``."""

Name = tuple[str, str]


def find_numeric() -> frozenset[str]:
    """Give the ids of all numeric clauses."""
    return frozenset(
        item.id for item in CLAUSES if _reaches_number(_resolve((f"{PACKAGE}.{item.stage}", item.check_name)))
    )


def _reaches_number(start: Name) -> bool:
    seen, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        if _is_number(name):
            return True
        for other in _follow(name):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return False


def _is_number(name: Name) -> bool:
    module, symbol = name
    node = _read(module).get(symbol)
    if node is None or isinstance(node, ast.ImportFrom):
        return False
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return any(isinstance(part, ast.Attribute) and _is_tolerance(part) for part in ast.walk(node))
    return module == f"{PACKAGE}.bounds" or any(
        isinstance(part, ast.Constant) and isinstance(part.value, float) for part in ast.walk(node)
    )


def _is_tolerance(part: ast.Attribute) -> bool:
    of_plane = isinstance(part.value, ast.Name) and part.value.id == "plane"
    return part.attr in TOLERANCES or (part.attr == "norm" and of_plane)


def _follow(name: Name) -> Iterator[Name]:
    """Give what a name's definition mentions, of its own module or imported from the package."""
    module, symbol = name
    known = _read(module)
    node = known.get(symbol)
    if node is None or isinstance(node, ast.ImportFrom):
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and part.id in known and part.id != symbol:
            yield _resolve((module, part.id))


def _resolve(name: Name) -> Name:
    """Give where a name is defined, through imports from the package."""
    module, symbol = name
    node = _read(module).get(symbol)
    while isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith(PACKAGE):
        original = next(alias.name for alias in node.names if (alias.asname or alias.name) == symbol)
        module, symbol = node.module, original
        node = _read(module).get(symbol)
    return module, symbol


@cache
def _read(module: str) -> Mapping[str, ast.AST]:
    """Give what a module defines or imports by name."""
    found: dict[str, ast.AST] = {}
    spec = find_spec(module) if module.startswith(PACKAGE) else None
    if spec is None or spec.origin is None:
        return MappingProxyType(found)
    for node in ast.parse(Path(spec.origin).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.name] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname or alias.name: node for alias in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id: node.value for target in targets if isinstance(target, ast.Name)}
    return MappingProxyType(found)
