"""JSON of a server under test: strict, bounded in depth, without numbers that are none.

The standard library's parser: it is the one that can refuse a key given twice. What a server answers to a probe has
some megabytes at most.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from eagle3_contracts.subjects.servers.failing import ServerProblemError, quote

_DEPTH = 64
"""SGLang's deepest answer has 7 levels; what is nested further is not read."""

_NESTING = frozenset({dict, list})


class _AbsurdError(ValueError):
    pass


def parse_json(body: bytes, where: str) -> Any:
    """Parse an answer. Problems: ``truncated`` (it just ends), ``no-json``, ``malformed``."""
    text = _decode(body, where)
    try:
        value = json.loads(text, object_pairs_hook=_table, parse_constant=_refuse)
    except _AbsurdError as error:
        raise ServerProblemError("malformed", str(error), where=where) from None
    except RecursionError:
        raise ServerProblemError("malformed", "the answer is nested beyond reading", where=where) from None
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            reason = f"the JSON ends in the middle, after {len(body):,} bytes"
            raise ServerProblemError("truncated", reason, where=where) from None
        begin = quote(text[:200])
        reason = f"the answer is no JSON ({error.msg} at character {error.pos:,}); it begins {begin}"
        raise ServerProblemError("no-json", reason, where=where) from None
    except ValueError:
        raise ServerProblemError("malformed", "the answer holds a number of thousands of digits", where=where) from None
    if _too_deep(value):
        raise ServerProblemError("malformed", f"the answer is nested more than {_DEPTH} deep", where=where)
    return value


def _decode(body: bytes, where: str) -> str:
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = error.end >= len(body) and error.reason == "unexpected end of data"
        kind, what = ("truncated", "ends in the middle of a character") if cut else ("no-json", "is no UTF-8")
        raise ServerProblemError(kind, f"the answer {what}", where=where) from None


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _AbsurdError(f"the key {quote(twice)} is given twice in one table")
    return table


def _refuse(constant: str) -> NoReturn:
    raise _AbsurdError(f"the answer holds {constant}, which JSON does not know")


def _too_deep(value: Any) -> bool:
    """Go down by tables and lists alone, told by their exact types: an answer has a hundred thousand numbers."""
    level = [value] if type(value) in _NESTING else []
    for _ in range(_DEPTH):
        inner = [item.values() if type(item) is dict else item for item in level]
        level = [item for items in inner for item in items if type(item) in _NESTING]
        if not level:
            return False
    return True


def is_whole(value: object) -> bool:
    """Tell whether a value is a whole number; true and false are none."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Tell whether a value is a finite number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
