"""The marks, and what a mark expression asks for. Standard library only."""

from __future__ import annotations

import ast
import re
from collections.abc import Set as AbstractSet

MARKS = (
    "contract(stage): holds a stage's clauses against subjects, one item each",
    "gpu: needs a GPU",
    "live: talks to a server that runs",
    "xdist_group(name): run on one worker with all others of that name (pytest-xdist, --dist loadgroup)",
    "peer(name): runs the real code of another tool",
)


def asks_for(expression: str, mark: str) -> bool:
    """Tell whether a mark expression selects something for the sake of a mark: ``contract and not gpu`` does.

    ``not contract`` does not, nor does ``contract or unit`` where everything is a unit test. An expression that
    cannot be read here is taken at its word.
    """
    if re.search(rf"\b{mark}\b", expression) is None:
        return False
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError:
        return True
    names = frozenset(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
    surroundings = (frozenset[str](), names - {mark})
    return any(_holds(tree, others | {mark}) and not _holds(tree, others) for others in surroundings)


def _holds(node: ast.expr, marks: AbstractSet[str]) -> bool:
    """Evaluate an expression for a test that has these marks."""
    match node:
        case ast.BoolOp(op=ast.And()):
            return all(_holds(part, marks) for part in node.values)
        case ast.BoolOp():
            return any(_holds(part, marks) for part in node.values)
        case ast.UnaryOp(op=ast.Not()):
            return not _holds(node.operand, marks)
        case ast.Name(id=name) | ast.Call(func=ast.Name(id=name)):
            return name in marks
        case _:
            return False
