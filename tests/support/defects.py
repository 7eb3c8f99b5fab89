"""Known defects of real tools, reproduced: what a tool says of a defect, and which clauses must fail for it."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Callable
from typing import NamedTuple

from torch import Tensor

Tensors = dict[str, Tensor]
LOGGERS = ("", "transformers")
"""Whose records are heard; transformers keeps its own from the root."""


class Defect(NamedTuple):
    """A defect: what makes it, what the tool says (``listen``), and the clauses that must fail; others may as well."""

    make: Callable[..., object]
    said: str
    clauses: frozenset[str]


def defect(make: Callable[..., object], said: str, *clauses: str) -> Defect:
    """Name a defect; without clauses it is none: nothing binding may fail."""
    return Defect(make, said, frozenset(clauses))


class _Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.any = False

    def emit(self, record: logging.LogRecord) -> None:
        del record
        self.any = True


def listen(run: Callable[[], object]) -> str:
    """Run a tool and say how it spoke up: ``silent``, ``prints``, ``logs``, ``warns``, or ``raises NAME``.

    The loudest counts. Python's warnings and log records of warning level are heard, and lines on standard output.
    """
    heard, printed = _Heard(), io.StringIO()
    loggers = [logging.getLogger(name) for name in LOGGERS]
    for logger in loggers:
        logger.addHandler(heard)
    try:
        with warnings.catch_warnings(record=True) as warned, contextlib.redirect_stdout(printed):
            warnings.simplefilter("always")
            run()
    except Exception as error:  # noqa: BLE001 (whatever the tool raises is what it says)
        return f"raises {type(error).__name__}"
    finally:
        for logger in loggers:
            logger.removeHandler(heard)
    told = {"warns": bool(warned), "logs": heard.any, "prints": bool(printed.getvalue().strip())}
    return next((word for word, spoken in told.items() if spoken), "silent")
