"""A subject that nobody named is skipped where its package is absent, and says what to install; a named one is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from eagle3_contracts import embedded
from eagle3_contracts.contract import load_contract
from eagle3_contracts.findings import Verdict
from eagle3_contracts.registry import clause, clauses_of
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Need, Options, Subject
from eagle3_contracts.testing.examining import Examination
from eagle3_contracts.testing.expectations import Expectation
from eagle3_contracts.testing.ledger import CLAUSE, EXPECTED, Ledger, write_properties

ABSENT = Need("no_such_trainer", "pip install no-such-trainer")
REFERENCE = Subject("loader", "embedded", "embedded")


def test_an_absent_package_is_looked_for_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_trainer.py").write_text("raise AssertionError('imported')", encoding="utf-8")
    need = Need("some_trainer", "install it")
    assert not need.met()
    monkeypatch.syspath_prepend(tmp_path)
    assert need.met()
    assert "some_trainer" not in sys.modules


def test_every_clause_on_it_is_skipped_and_says_what_to_install() -> None:
    subject = Subject("loader", "embedded", "trainer", need=ABSENT)
    report = check(load_contract(embedded.CONTRACT), [subject], Options())
    found = [item for item in report.findings if item.stage == "loader"]
    assert [item.clause for item in found] == [item.id for item in clauses_of("loader")]
    assert {item.verdict for item in found} == {Verdict.SKIPPED}
    assert {item.observed for item in found} == {"no_such_trainer is not installed here, so its loader was not checked"}
    assert {item.hint for item in found} == {"pip install no-such-trainer"}
    assert report.exit_code() == 3  # nothing was decided about a subject


def test_it_is_checked_where_its_package_is() -> None:
    subject = Subject("loader", "embedded", "trainer", need=Need("numpy", "pip install numpy"))
    (found,) = Examination(Options()).judge(clause("loader.runs"), load_contract(embedded.CONTRACT), subject)
    assert found.verdict is Verdict.PASSED


def test_it_leaves_a_required_stage_open() -> None:
    contract, item = load_contract(embedded.CONTRACT), clause("loader.runs")
    ledger, examination = Ledger(), Examination(Options())
    for subject in (REFERENCE, Subject("loader", "trainer", "trainer", need=ABSENT)):
        found = examination.judge(item, contract, subject)
        names = (contract.reference, contract.digest)
        ledger.enter({CLAUSE: item.id, **dict(write_properties(found, names, subject, None))})
    assert ledger.complaints([]) == []
    (sentence,) = ledger.complaints(["loader"])
    assert sentence.endswith("so its loader was not checked; pip install no-such-trainer")


@pytest.mark.parametrize("name", embedded.PEERS)
def test_a_loader_that_was_named_is_an_error_without_its_package(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed, wherever this runs
    subject = Subject("loader", name, name)
    (found,) = Examination(Options()).judge(clause("loader.runs"), load_contract(embedded.CONTRACT), subject)
    assert found.verdict is Verdict.ERRORED
    assert name in found.observed


def test_the_embedded_default_names_the_peers_and_their_environments() -> None:
    tox = (Path(__file__).parents[3] / "tox.ini").read_text(encoding="utf-8")
    assert list(_peers()) == list(embedded.PEERS)
    for name, need in _peers().items():
        assert need.module == name
        assert f"tox -e peers-{name}" in need.remedy
        assert f"    {name}: pytest tests/contract -m contract" in tox


def test_what_was_expected_is_told_of_a_violation_only() -> None:
    item, expected = clause("loader.nonfinite"), Expectation("loader.nonfinite", "known", "link")
    told = {
        verdict: EXPECTED in dict(write_properties([item.find(verdict, "trainer")], ("c", "d"), REFERENCE, expected))
        for verdict in (Verdict.FAILED, Verdict.SKIPPED)
    }
    assert told == {Verdict.FAILED: True, Verdict.SKIPPED: False}


def _peers() -> dict[str, Need]:
    return {item.value: item.need for item in embedded.embedded_subjects() if item.need is not None}
