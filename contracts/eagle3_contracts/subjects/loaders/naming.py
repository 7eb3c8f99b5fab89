"""Finding the loader that a subject names. Nothing is imported that the user did not name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.loaders.protocol import Factory, Loader
from eagle3_contracts.subjects.named_code import CodeError, NeedsError, find_code, last_line, restored_process

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

_FORMS = (
    "write speculators, specforge, specforge-data-plane, embedded, or package.module:factory or path/file.py:factory, "
    "a function that takes the contract and returns eagle3_contracts.Loader"
)

BUILT_IN = {
    "embedded": ("reference", "open_reference_loader"),
    "speculators": ("speculators", "open_speculators_loader"),
    "specforge": ("specforge", "open_specforge_loader"),
    "specforge-data-plane": ("specforge", "open_data_plane_loader"),
}
"""Loaders known by name: the module of this package, and its factory."""


def open_factory(value: str) -> Factory:
    """Give the factory that ``value`` names. Raises ``SubjectError`` if it leads nowhere, ``CodeError`` if it fails."""
    if value in BUILT_IN:
        module, name = BUILT_IN[value]
        factory: Factory = getattr(import_module(f"eagle3_contracts.subjects.loaders.{module}"), name)
        return factory
    found, _ = find_code(value, "loader", _FORMS)
    return found


def make_loader(contract: Contract, factory: Callable[..., Any], value: str) -> Loader:
    """Call a factory. Raises ``CodeError`` for what it raises, ``NeedsError`` for a package that is missing.

    A warning stays one, even where a test run makes errors of them: a trainer's imports warn of much.
    """
    try:
        with restored_process(), warnings.catch_warnings():
            warnings.simplefilter("default")
            made = factory(contract)
    except (NeedsError, SubjectError):
        raise
    except (Exception, SystemExit) as error:
        raise CodeError(f"the factory {value} raised {last_line(error)}") from error
    if not isinstance(made, Loader):
        reason = f"the factory returned a {type(made).__name__}, no eagle3_contracts.Loader"
        raise SubjectError(value, reason, remedy=_FORMS)
    wrong = _find_wrong_field(made)
    if wrong:
        raise SubjectError(value, f"the factory's Loader has {wrong}", remedy="see help(eagle3_contracts.Loader)")
    return made


def _find_wrong_field(loader: Loader) -> str:
    """Say which field of a loader holds what it cannot, or nothing."""
    longest = loader.max_length
    if not callable(loader.read):
        return f"read of type {type(loader.read).__name__}, which cannot be called"
    if not isinstance(loader.format, str):
        return f"format {str(loader.format)[:40]!r} of type {type(loader.format).__name__}, no name of a format"
    if longest is not None and (type(longest) is not int or longest < 1):
        return f"max_length {longest!r}, no number of rows"
    if loader.write is not None and not callable(loader.write):
        return f"write of type {type(loader.write).__name__}, which cannot be called"
    return ""
