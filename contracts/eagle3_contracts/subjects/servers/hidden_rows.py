"""``meta_info.hidden_states``: a block of rows for the prompt, then one row for each token generated but the last."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagle3_contracts.evidence.problem import Array


def read_rows(value: object) -> tuple[Array | None, Array | None, str]:
    """Give the prompt's rows, the later ones, and in words why the one or the other is no table.

    null stands for a number that is none (that is how SGLang's JSON gives NaN) and becomes NaN.
    """
    if value is None or value == []:
        return None, None, ""
    if not isinstance(value, list):
        return None, None, f"hidden_states is no list but {type(value).__name__}"
    prompt, why = _table(value[0])
    if prompt is None:
        return None, None, f"the prompt's block is {why}"
    later, why = _table([_flat(row) for row in value[1:]]) if len(value) > 1 else (None, "")
    return prompt, later, f"the rows of generated tokens are {why}" if why else ""


def _flat(row: Any) -> Any:
    """Give a row that stands in a block of its own, as servers write it that verify several tokens at once."""
    return row[0] if isinstance(row, list) and len(row) == 1 and isinstance(row[0], list) else row


def _table(block: object) -> tuple[Array | None, str]:
    why = _misshape(block)
    if why or not isinstance(block, list):
        return None, why
    try:
        wide = np.array(block, dtype=np.float64)
    except (OverflowError, ValueError):
        return None, "beyond the range of float64"
    if np.isinf(wide).any() or (np.abs(wide[np.isfinite(wide)]) > np.finfo(np.float32).max).any():
        return None, "beyond the range of float32, in which engines compute"
    return wide.astype(np.float32), ""


def _misshape(block: object) -> str:
    """Say why a block is no table of numbers; null counts as one."""
    if not isinstance(block, list) or not block:
        return "empty" if block == [] else f"no list but {type(block).__name__}"
    widths = {len(row) if isinstance(row, list) else None for row in block}
    if None in widths:
        return "no list of rows: numbers, text or null stand where a row should"
    if len(widths) > 1:
        return f"rows of several widths: {', '.join(map(str, sorted(width for width in widths if width is not None)))}"
    kinds = {type(number) for row in block for number in row} - {float, int, type(None)}
    return f"no numbers: {', '.join(sorted(kind.__name__ for kind in kinds))}" if kinds else ""
