from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts import embedded
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.subjects import Subject
from eagle3_contracts.testing.selection import (
    Selection,
    cases_of,
    demand_contract,
    demand_subject,
    label_subjects,
    select,
)
from eagle3_contracts.testing.settings import SETTINGS, Given, SettingError, Source

BY_OPTION = {setting.option: setting for setting in SETTINGS}


def given(option: str, *values: str, source: Source = Source.OPTION) -> dict[str, Given]:
    return {option: Given(BY_OPTION[option], values, source)}


def test_without_any_setting_there_is_nothing_to_check() -> None:
    assert select({}) == Selection()
    with pytest.raises(SettingError, match="no subject was given, so there is nothing to check; give one"):
        demand_subject(select({}))


def test_a_subject_without_a_contract_is_refused() -> None:
    selection = select(given("--contract-hidden-states", "/data"))
    demand_subject(selection)
    with pytest.raises(SettingError, match="no contract to check them against"):
        demand_contract(selection)


def test_the_embedded_default_brings_its_own_contract_target_and_subjects() -> None:
    selection = select(given("--contract-subject", "embedded"))
    assert selection.contract == embedded.CONTRACT
    assert selection.options.target == str(embedded.embedded_target())
    assert selection.subjects == embedded.embedded_subjects()
    assert selection.subjects[0] == Subject("capture", "embedded", "embedded")


def test_one_given_subject_replaces_the_embedded_default_of_the_ini_file_altogether() -> None:
    chosen = given("--contract-subject", "embedded", source=Source.INI) | given("--contract-hidden-states", "/data")
    selection = select(chosen)
    assert selection.subjects == (Subject("dataset", "/data", "data"),)
    assert (selection.contract, selection.options.target) == (None, None)


def test_the_embedded_default_given_as_an_option_replaces_subjects_of_the_ini_file() -> None:
    chosen = given("--contract-subject", "embedded")
    chosen |= given("--contract-hidden-states", "/data", source=Source.INI)
    assert select(chosen).subjects == embedded.embedded_subjects()


def test_the_embedded_default_beside_a_subject_given_as_strongly_is_refused() -> None:
    with pytest.raises(SettingError, match=r"--contract-subject=embedded and --contract-hidden-states name different"):
        select(given("--contract-subject", "embedded") | given("--contract-hidden-states", "/data"))


def test_a_clause_id_stands_alone_for_one_subject_and_with_the_label_for_several() -> None:
    one = select(given("--contract-hidden-states", "/runs/a"))
    two = select(given("--contract-hidden-states", "/runs/a", "/runs/b"))
    ids = [clause.id for clause in clauses_of("dataset")]
    assert [case.id for case in cases_of("dataset", one)] == ids
    assert [case.id for case in cases_of("dataset", two)][:2] == [f"{ids[0]}@a", f"{ids[0]}@b"]
    assert len(cases_of("dataset", two)) == 2 * len(ids)


def test_a_stage_without_a_subject_keeps_one_case_per_clause() -> None:
    cases = cases_of("capture", select(given("--contract-hidden-states", "/runs/a")))
    assert [(case.id, case.subject) for case in cases] == [(clause.id, None) for clause in clauses_of("capture")]


def test_labels_take_in_as_much_of_the_path_as_tells_them_apart() -> None:
    values = ("/runs/a/data", "/runs/b/data", "/runs/b/data")
    assert [subject.label for subject in label_subjects("dataset", values)] == ["a/data", "b/data"]
    assert [subject.label for subject in label_subjects("capture", ["pkg.mod:fn"])] == ["pkg.mod:fn"]


def test_a_required_stage_must_exist() -> None:
    assert select(given("--contract-require", "dataset, capture")).required == ("dataset", "capture")
    with pytest.raises(SettingError, match=r"--contract-require: this version has no stage 'engine'; it has"):
        select(given("--contract-require", "dataset,engine"))


def test_a_report_of_an_unknown_kind_is_refused_before_anything_runs() -> None:
    assert select(given("--contract-report", "a.json", "b.html")).reports == (Path("a.json"), Path("b.html"))
    with pytest.raises(SettingError, match=r"a.xml ends neither in .json or .html; for JUnit XML use pytest's own"):
        select(given("--contract-report", "a.xml"))


def test_command_lines_are_numbered_and_files_named() -> None:
    found = label_subjects("launch", ("sglang serve a/b", "vllm serve c", "deploy/serve.sh"))
    assert [subject.label for subject in found] == ["command line 1", "command line 2", "serve.sh"]
