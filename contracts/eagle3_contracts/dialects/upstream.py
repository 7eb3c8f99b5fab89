"""Reading single functions out of a tool's source: parsed, never imported.

``evaluate`` compiles one function of pure arithmetic on lists, alone, with a handful of builtins, so that
what is compared with a dialect is what the tool does and not a copy of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_BUILTINS: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(all, any, bool, dict, getattr, hasattr, int, isinstance, len, list, max, min, range, set),
        *(setattr, sorted, tuple, type, frozenset, enumerate, AttributeError, RuntimeError, ValueError),
    )
}


class SourceError(LookupError):
    """A function or class is not where it was read: upstream moved it, and the dialect must be read anew."""


def parse(source: str) -> ast.Module:
    """Parse a module; ``SourceError`` if this Python cannot."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise SourceError(f"it does not parse: {error}") from error


def find_class(source: str, name: str) -> ast.ClassDef:
    """Give a class of a module; ``SourceError`` if it is not there."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return node
    raise SourceError(f"no class {name}")


def find_method(source: str, class_name: str, name: str) -> ast.FunctionDef:
    """Give a method of a class of a module; ``SourceError`` if it is not there."""
    for node in find_class(source, class_name).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise SourceError(f"no method {class_name}.{name}")


def find_function(source: str, name: str) -> ast.FunctionDef:
    """Give a function of a module, wherever it is nested; ``SourceError`` if it is not there."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return node
    raise SourceError(f"no function {name}")


def methods(source: str) -> Iterator[tuple[ast.ClassDef, ast.FunctionDef]]:
    """Give every method of every class of a module."""
    for node in ast.walk(parse(source)):
        if isinstance(node, ast.ClassDef):
            yield from ((node, item) for item in node.body if isinstance(item, ast.FunctionDef))


def evaluate(function: ast.FunctionDef, names: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """Compile one function, without its annotations and decorators, over a few builtins and ``names``."""
    bare = ast.FunctionDef(
        name=function.name,
        args=_without_annotations(function.args),
        body=function.body,
        decorator_list=[],
        returns=None,
    )
    if "type_params" in ast.FunctionDef._fields:
        bare.type_params = []  # type: ignore[attr-defined, unused-ignore]
    module = ast.fix_missing_locations(ast.Module(body=[ast.copy_location(bare, function)], type_ignores=[]))
    space: dict[str, Any] = {"__builtins__": _BUILTINS, **(names or {})}
    exec(compile(module, f"<{function.name}>", "exec"), space)  # noqa: S102 - one function of an installed tool
    made: Callable[..., Any] = space[function.name]
    return made


def _without_annotations(arguments: ast.arguments) -> ast.arguments:
    def bare(argument: ast.arg | None) -> ast.arg | None:
        return None if argument is None else ast.arg(arg=argument.arg)

    return ast.arguments(
        posonlyargs=[ast.arg(arg=item.arg) for item in arguments.posonlyargs],
        args=[ast.arg(arg=item.arg) for item in arguments.args],
        vararg=bare(arguments.vararg),
        kwonlyargs=[ast.arg(arg=item.arg) for item in arguments.kwonlyargs],
        kw_defaults=arguments.kw_defaults,
        kwarg=bare(arguments.kwarg),
        defaults=arguments.defaults,
    )
