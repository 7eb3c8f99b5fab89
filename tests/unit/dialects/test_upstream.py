"""Single functions out of a module's text: found by name, compiled alone, and run over a handful of builtins."""

from __future__ import annotations

import ast
import inspect

import pytest

from eagle3_contracts.dialects.upstream import (
    SourceError,
    evaluate,
    find_class,
    find_function,
    find_method,
    methods,
)

MODULE = """
import nothing_of_this_name

def outer(values):
    def inner(values):
        return "inner"
    return "outer"

class Early:
    size = 3
    def same(self):
        return "early"

if True:
    class Late(Early):
        def other(self):
            return "other"
        async def waits(self):
            return "waits"
        def same(self):
            return "late"
"""


def test_a_class_is_found_wherever_it_stands() -> None:
    assert find_class(MODULE, "Early").name == "Early"
    assert ast.unparse(find_class(MODULE, "Late").bases[0]) == "Early"


def test_a_method_is_that_of_the_class_asked_for() -> None:
    assert evaluate(find_method(MODULE, "Early", "same"))(None) == "early"
    assert evaluate(find_method(MODULE, "Late", "same"))(None) == "late"


def test_a_function_is_found_where_it_is_nested() -> None:
    assert evaluate(find_function(MODULE, "inner"))([]) == "inner"
    assert evaluate(find_function(MODULE, "outer"))([]) == "outer"


@pytest.mark.parametrize(
    ("look", "says"),
    [
        (lambda: find_class(MODULE, "outer"), "no class outer"),
        (lambda: find_method(MODULE, "None", "same"), "no class None"),
        (lambda: find_method(MODULE, "Early", "other"), "no method Early.other"),
        (lambda: find_method(MODULE, "Early", "size"), "no method Early.size"),
        (lambda: find_method(MODULE, "Late", "waits"), "no method Late.waits"),
        (lambda: find_function(MODULE, "Early"), "no function Early"),
    ],
)
def test_what_is_not_there_is_named(look, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SourceError) as raised:
        look()
    assert str(raised.value) == says


def test_methods_are_listed_with_the_class_that_holds_them() -> None:
    found = sorted((owner.name, method.name) for owner, method in methods(MODULE))
    assert found == [("Early", "same"), ("Late", "other"), ("Late", "same")]


DECORATED = """
@no_such_decorator(of=anything)
def every(a: NoSuchType, /, b: NoSuchType = 2, *rest: NoSuchType, c: NoSuchType, d: NoSuchType = 4, **more: NoSuchType
          ) -> NoSuchType:
    return a, b, rest, c, d, more
"""


def test_annotations_and_decorators_are_left_out_and_arguments_keep_their_kinds_and_defaults() -> None:
    every = evaluate(find_function(DECORATED, "every"))
    assert str(inspect.signature(every)) == "(a, /, b=2, *rest, c, d=4, **more)"
    assert every(1, c=3) == (1, 2, (), 3, 4, {})
    assert every(1, 5, 6, c=3, d=7, e=8) == (1, 5, (6,), 3, 7, {"e": 8})


def test_a_function_without_variadic_arguments_gets_none() -> None:
    assert str(inspect.signature(evaluate(find_function("def plain(a, b): return a", "plain")))) == "(a, b)"


def test_only_the_names_given_and_a_few_builtins_are_known() -> None:
    function = find_function("def ask(values): return sorted(set(values)), known", "ask")
    assert evaluate(function, {"known": 7})([3, 1, 3]) == ([1, 3], 7)
    with pytest.raises(NameError, match="known"):
        evaluate(function)([1])


@pytest.mark.parametrize("name", ["open", "eval", "exec", "__import__", "globals", "print"])
def test_nothing_that_reaches_beyond_is_a_builtin(name: str) -> None:
    with pytest.raises(NameError, match=name):
        evaluate(find_function(f"def reach(): return {name}", "reach"))()


def test_an_error_points_to_the_functions_own_lines() -> None:
    function = find_function("\n\n\ndef fails():\n    raise ValueError('here')", "fails")
    with pytest.raises(ValueError, match="here") as raised:
        evaluate(function)()
    last = raised.traceback[-1]
    assert str(last.path).endswith("<fails>")
    assert last.lineno == 4
