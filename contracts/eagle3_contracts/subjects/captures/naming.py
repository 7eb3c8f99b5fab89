"""Finding the capture that a subject names. Nothing is imported that the user did not name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.named_code import CodeError, NeedsError, find_code, last_line

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

_FORMS = (
    "write package.module:function or path/file.py:function (the capture), the same with () (a factory, called "
    "with the contract), transformers:PATH (a model folder or .gguf file), or embedded"
)


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
    found, name = find_code(value, "capture", _FORMS)
    return _make_capture(contract, value, found, name) if name.endswith("()") else found


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


def _make_capture(contract: Contract, value: str, factory: Callable[..., Any], name: str) -> Callable[..., Any]:
    try:
        made: Callable[..., Any] = factory(contract)
    except (Exception, SystemExit) as error:
        raise CodeError(f"the factory {name} raised {last_line(error)}") from error
    if not callable(made):
        reason = f"the factory {name} returned a {type(made).__name__}, which cannot be called"
        raise SubjectError(value, reason, remedy="return the capture: a function of a batch of token ids")
    return made
