"""What names a loader, and what is said of a name that leads nowhere."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from eagle3_contracts import Loader
from eagle3_contracts.contract import Contract
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.loaders import gather
from eagle3_contracts.subjects.loaders.naming import BUILT_IN, make_loader, open_factory

FACTORY = """
from dataclasses import dataclass
from eagle3_contracts import Loader, StepZero
def factory(contract):
    return Loader(lambda _: [], "speculators-v1", max_length=contract.drafter.max_position)
def broken(contract):
    raise KeyError("planes")
def nothing(contract):
    return 3
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "my_loader.py"
    path.write_text(FACTORY, encoding="utf-8")
    return path


def test_a_file_and_its_factory_are_found(script: Path, contract: Contract) -> None:
    value = f"{script}:factory"
    loader = make_loader(contract, open_factory(value), value)
    assert isinstance(loader, Loader)
    assert loader.max_length == contract.drafter.max_position


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("{}:other", "'other' in _loader_under_test_my_loader has no such name"),
        ("{}:nothing", "the factory returned a int, no eagle3_contracts.Loader"),
        ("no_such_module:factory", "no module named 'no_such_module'"),
        ("speculator", "names no loader"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_with_the_forms_there_are(
    name: str, told: str, script: Path, contract: Contract
) -> None:
    with pytest.raises(SubjectError, match="remedy") as caught:
        gather(contract, Subject("loader", name.format(script), "x"), Options())
    assert told in caught.value.reason


def test_a_factory_that_raises_is_a_problem_and_fails_the_first_clause(script: Path, contract: Contract) -> None:
    evidence = gather(contract, Subject("loader", f"{script}:broken", "x"), Options())
    assert [problem.kind for problem in evidence.problems] == ["crashed"]
    assert "KeyError: 'planes'" in evidence.problems[0].reason


@pytest.mark.parametrize("name", ["speculators", "specforge", "specforge-data-plane"])
def test_a_tool_that_is_not_installed_is_what_is_needed(
    name: str, contract: Contract, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in [loaded for loaded in sys.modules if loaded.partition(".")[0] in {"speculators", "specforge"}]:
        monkeypatch.delitem(sys.modules, module)
    for tool in ("speculators", "specforge"):
        monkeypatch.setitem(sys.modules, tool, None)
    evidence = gather(contract, Subject("loader", name, name), Options())
    assert [problem.kind for problem in evidence.problems] == ["needs"]
    assert "is not installed" in evidence.problems[0].reason


def test_every_built_in_name_has_its_factory() -> None:
    found: list[Callable[..., object]] = [open_factory(name) for name in BUILT_IN]
    assert all(callable(factory) for factory in found)
    assert len(set(found)) == len(BUILT_IN)


def test_what_a_trainer_warns_of_on_import_is_no_failure(contract: Contract) -> None:
    """As where pytest makes errors of warnings: speculators' imports reach a deprecated part of torch."""
    loader = Loader(lambda _: [], "speculators-v1")

    def factory(_: Contract) -> Loader:
        warnings.warn("an old part of a library", DeprecationWarning, stacklevel=1)
        return loader

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error")
        assert make_loader(contract, factory, "a.py:factory") is loader
    assert [str(item.message) for item in told] == ["an old part of a library"]
