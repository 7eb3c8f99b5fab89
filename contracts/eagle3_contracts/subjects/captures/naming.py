"""Finding the capture that a subject names. Nothing is imported that the user did not name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.captures.returned import last_line

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

_FORMS = (
    "write package.module:function or path/file.py:function (the capture), the same with () (a factory, called "
    "with the contract), transformers:PATH (a model folder or .gguf file), or embedded"
)


class CodeError(Exception):
    """Code under test that raised before it captured anything: on import, or in its factory."""


class NeedsError(Exception):
    """A built-in capture that cannot run, since an optional package is not installed."""

    def __init__(self, reason: str, remedy: str) -> None:
        self.reason, self.remedy = reason, remedy
        super().__init__(reason)


def open_capture(contract: Contract, value: str, target: str | None = None) -> Callable[..., Any]:
    """Give the capture that ``value`` names.

    ``module:function`` is the capture itself, ``module:function()`` a factory that is called with the
    contract and returns it; ``module`` may be the path of a ``.py`` file. ``transformers:PATH`` captures
    with hooks in transformers, computing in the contract's dtype, ``transformers+DTYPE:PATH`` in another;
    without ``:PATH`` it takes the model given as ``target``. ``embedded`` runs the golden target. Raises
    ``SubjectError`` if the name leads nowhere, ``CodeError`` if the named code itself fails, ``NeedsError`` if
    the embedded capture lacks a package.
    """
    scheme, _, rest = value.partition(":")
    if value == "embedded":
        return _open_embedded(contract)
    if scheme.partition("+")[0] == "transformers":
        return _open_transformers(contract, value, scheme.partition("+")[2], rest or target or "")
    source, colon, name = value.rpartition(":")
    if not colon or not source or not name:
        raise SubjectError(value, "names no capture", remedy=_FORMS)
    module = _import_file(value, source) if source.endswith(".py") else _import_module(value, source)
    return _find_callable(contract, value, module, name)


def _open_embedded(contract: Contract) -> Callable[..., Any]:
    from eagle3_contracts.subjects.captures.embedded import open_embedded_capture

    try:
        return open_embedded_capture(contract)
    except ModuleNotFoundError as error:
        reason = f"running the embedded target needs {error.name}, which is not installed"
        raise NeedsError(reason, "pip install 'eagle3-contracts[torch]'") from None


def _open_transformers(contract: Contract, value: str, dtype: str, source: str) -> Callable[..., Any]:
    from eagle3_contracts.subjects.captures.hooks import COMPUTE_DTYPES, open_transformers_capture

    if not source:
        remedy = "write transformers:PATH, or give the model as the target: --contract-target PATH"
        raise SubjectError(value, "names no model", remedy=remedy)
    chosen = dtype or contract.target.dtype
    if chosen not in COMPUTE_DTYPES:
        remedy = f"write one of {', '.join(COMPUTE_DTYPES)} after transformers+"
        raise SubjectError(value, f"{chosen!r} is no dtype to compute in", remedy=remedy)
    return open_transformers_capture(contract, source, chosen)


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


def _import_file(value: str, source: str) -> ModuleType:
    """Run a named file as a module of its own; it is not put on ``sys.path`` and leaves no bytecode behind."""
    path = Path(source)
    if not path.is_file():
        raise SubjectError(value, f"there is no file {source}", remedy=_FORMS)
    spec = importlib.util.spec_from_file_location(f"_capture_under_test_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SubjectError(value, f"{source} is no Python file", remedy=_FORMS)
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


def _find_callable(contract: Contract, value: str, module: ModuleType, name: str) -> Callable[..., Any]:
    plain = name.removesuffix("()")
    found: Callable[..., Any] | None = getattr(module, plain, None)
    if not callable(found):
        what = "has no such name" if found is None else f"is a {type(found).__name__}, which cannot be called"
        raise SubjectError(value, f"{plain!r} in {module.__name__} {what}", remedy=_FORMS)
    if plain == name:
        return found
    try:
        made: Callable[..., Any] = found(contract)
    except (Exception, SystemExit) as error:
        raise CodeError(f"the factory {name} raised {last_line(error)}") from error
    if not callable(made):
        reason = f"the factory {name} returned a {type(made).__name__}, which cannot be called"
        raise SubjectError(value, reason, remedy="return the capture: a function of a batch of token ids")
    return made
