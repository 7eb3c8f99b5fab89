"""Finding code that a subject names. Nothing is imported that the user did not name."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from eagle3_contracts.subjects import SubjectError


class CodeError(Exception):
    """Code under test that raised before it did anything of use: on import, or in its factory."""


class NeedsError(Exception):
    """Code of this package, or of a tool that it knows, that cannot run, since a package is not installed."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(reason)


def find_code(value: str, kind: str, forms: str) -> tuple[Callable[..., Any], str]:
    """Give what ``module:name`` or ``path/file.py:name`` names, and its name as written, ``()`` included.

    ``kind``: what is looked for ("capture"), ``forms``: how to write one. Raises ``SubjectError`` if the name leads
    nowhere, ``CodeError`` if the named code itself fails.
    """
    source, colon, name = value.rpartition(":")
    if not colon or not source or not name:
        raise SubjectError(value, f"names no {kind}", remedy=forms)
    module = _import_file(value, source, kind, forms) if source.endswith(".py") else _import_module(value, source)
    plain = name.removesuffix("()")
    found: Callable[..., Any] | None = getattr(module, plain, None)
    if not callable(found):
        what = "has no such name" if found is None else f"is a {type(found).__name__}, which cannot be called"
        raise SubjectError(value, f"{plain!r} in {module.__name__} {what}", remedy=forms)
    return found, name


@contextlib.contextmanager
def restored_process() -> Iterator[None]:
    """Put back what code under test may leave changed for all that runs after it: folder, torch's defaults."""
    torch = sys.modules.get("torch")
    folder = _working_folder()
    kept = (torch.get_default_dtype(), torch.is_grad_enabled()) if torch is not None else None
    try:
        yield
    finally:
        if folder is not None:
            os.chdir(folder)
        if torch is not None and kept is not None:
            torch.set_default_dtype(kept[0])
            torch.set_grad_enabled(kept[1])


def _working_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # a folder that was removed
        return None


def last_line(error: BaseException) -> str:
    """Give an exception as one line: its type, and the last line of what it says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__


def _import_module(value: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise CodeError(f"importing {name} raised {last_line(error)}") from error
        remedy = "put its folder on PYTHONPATH, or name the file: path/file.py:function"
        raise SubjectError(value, f"no module named {error.name!r} can be imported", remedy=remedy) from None
    except (Exception, SystemExit) as error:
        raise CodeError(f"importing {name} raised {last_line(error)}") from error


def _import_file(value: str, source: str, kind: str, forms: str) -> ModuleType:
    """Run a named file as a module of its own; it is not put on ``sys.path`` and leaves no bytecode behind."""
    path = Path(source)
    if not path.is_file():
        raise SubjectError(value, f"there is no file {source}", remedy=forms)
    spec = importlib.util.spec_from_file_location(f"_{kind}_under_test_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SubjectError(value, f"{source} is no Python file", remedy=forms)
    module = importlib.util.module_from_spec(spec)
    keep, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.modules[module.__name__] = module  # dataclasses in the file look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise CodeError(f"running {source} raised {last_line(error)}") from error
    finally:
        sys.dont_write_bytecode = keep
    return module
