"""pytest options, marks, fixtures and hooks. Imports the standard library and pytest only.

What pytest does not need to know lives in ``eagle3_contracts.testing``: what the user chose, the cases, what was
found, and whether it is enough. All but the settings is imported at the first test that holds clauses, so that a
run without any pays for the options alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from eagle3_contracts.testing.settings import SETTINGS, TRUE, Places, SettingError, unknown_variables

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.findings import Finding
    from eagle3_contracts.testing.selection import Case, Offered
    from eagle3_contracts.testing.session import ContractSession

SESSION = pytest.StashKey["ContractSession"]()
SUITE = "eagle3_contracts.suite."
_LISTS_ONLY = ("collectonly", "showfixtures", "show_fixtures_per_test", "setuponly", "setupplan")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every setting as an option and as an ini key; both default to None, which is not the same as empty."""
    group = parser.getgroup("eagle3-contracts", "contracts for EAGLE-3 hidden states")
    for item in SETTINGS:
        kind: Literal["linelist", "string"] = "linelist" if item.many else "string"
        parser.addini(item.key, item.help, type=kind, default=None)
        how: dict[str, Any] = {"action": "append" if item.many else "store", "metavar": item.metavar}
        if item.flag:
            how = {"action": "store_const", "const": TRUE}
        group.addoption(item.option, dest=item.key, default=None, help=f"{item.help} [{item.variable}]", **how)


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks; refuse choices that cannot be followed before anything is collected."""
    from eagle3_contracts.testing.marks import MARKS, asks_for

    for mark in MARKS:
        config.addinivalue_line("markers", mark)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(config), "eagle3_contracts.recorder")
    given = any(config.getoption(item.key) is not None for item in SETTINGS)
    if given or asks_for(config.getoption("markexpr"), "contract"):
        session = session_of(config)
        session.asked = True
        try:
            session.verify(suite=False, listing=True)
        except SettingError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Tell what will be checked, and every variable that looks like a setting and is none."""
    strange = unknown_variables(os.environ)
    if SESSION not in config.stash and not strange and all(config.getini(item.key) is None for item in SETTINGS):
        return []
    from eagle3_contracts.testing.header import describe_session

    return describe_session(session_of(config), strange)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one item per clause and subject of a test marked with a stage."""
    mark = metafunc.definition.get_closest_marker("contract")
    if mark is None or not mark.args:
        return
    from eagle3_contracts.registry import STAGES  # where a test holds clauses only

    if mark.args[0] not in STAGES:
        return
    if "contract_case" not in metafunc.fixturenames:
        pytest.fail(f"{metafunc.definition.nodeid}: a test of clauses takes the argument contract_check", pytrace=False)
    cases = session_of(metafunc.config).list_cases(mark.args[0])
    params = [pytest.param(case, id=case.id, marks=_marks_of(case)) for case in cases]
    metafunc.parametrize("contract_case", params, indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Count the cases before and after deselection; refuse to start where they cannot be checked."""
    collected = sum(_case_of(item) is not None for item in items)
    yield
    if not collected and SESSION not in config.stash:
        return
    from eagle3_contracts.testing.ledger import CLAUSE

    session = session_of(config)
    cases = {item: case for item in items if (case := _case_of(item)) is not None}
    session.ledger.count(collected, len(cases), len(items) - len(cases))
    for item, case in cases.items():
        item.user_properties.append((CLAUSE, case.clause.id))
    try:
        if cases:
            suite = any(getattr(item, "module", None) and _is_suite(item) for item in cases)
            session.verify(suite=suite, listing=config.option.collectonly)
    except SettingError as error:
        if not hasattr(config, "workerinput"):
            raise pytest.UsageError(str(error)) from None
        session.ledger.refusals[str(error)] = None
        items[:] = [item for item in items if item not in cases]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker counted to the process that started it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None and SESSION in session.config.stash:
        ledger = session_of(session.config).ledger
        output[SUITE] = [ledger.collected, ledger.selected, ledger.others, list(ledger.refusals)]


@pytest.fixture
def contract_case(request: pytest.FixtureRequest) -> Case:
    """Give the clause and the subject of this item."""
    case: Case = request.param
    return case


@pytest.fixture
def contract_subject(contract_case: Case) -> Offered | None:
    """Give the subject under test; override it to give a path, a capture or a ``Subject`` of your own making."""
    return contract_case.subject


@pytest.fixture
def contract_document(request: pytest.FixtureRequest) -> Contract | str | Path | None:
    """Give the contract; override it to give another reference, path or ``Contract``."""
    return session_of(request.config).selection.contract


@pytest.fixture
def contract_check(
    request: pytest.FixtureRequest,
    contract_case: Case,
    contract_subject: Offered | None,
    contract_document: Contract | str | Path | None,
) -> Callable[[], tuple[Finding, ...]]:
    """Give the check of one clause on one subject: call it. It fails, skips or passes the test."""
    session = session_of(request.config)

    def check() -> tuple[Finding, ...]:
        __tracebackhide__ = True
        try:
            conclusion = session.check(contract_case, contract_subject, contract_document)
        except SettingError as error:
            raise pytest.fail.Exception(str(error), pytrace=False) from None
        request.node.user_properties += conclusion.properties
        if conclusion.outcome == "failed":
            pytest.fail(conclusion.message, pytrace=False)
        if conclusion.outcome == "skipped":
            pytest.skip(conclusion.message)
        if conclusion.outcome == "expected":
            pytest.xfail(conclusion.message)
        return conclusion.findings

    return check


class Recorder:
    """Keep what the tests reported, and end the run: in the one process that the user started."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.complaints: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Enter what a case found: from its call, or from a setup that ended it."""
        ended_early = report.when == "setup" and report.outcome != "passed"
        properties = {name: str(value) for name, value in report.user_properties if name.startswith("contract.")}
        if properties and (report.when == "call" or ended_early):
            session_of(self.config).ledger.enter(properties)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take over what a worker counted (pytest-xdist)."""
        collected, selected, others, refusals = getattr(node, "workeroutput", {}).get(SUITE, (0, 0, 0, ()))
        if collected or SESSION in self.config.stash:
            ledger = session_of(self.config).ledger
            ledger.count(collected, selected, others)
            ledger.refusals |= dict.fromkeys(refusals)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a run that proves less than was asked for, and write the reports."""
        over = exitstatus in {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR}
        lists = any(self.config.getoption(name, default=False) for name in _LISTS_ONLY)
        if over or lists or SESSION not in self.config.stash:
            return
        contracts = session_of(self.config)
        self.complaints = contracts.finish(os.environ)
        if contracts.ledger.refusals:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif self.complaints and exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Count by stage, tell of violated shoulds and expected failures, and say why the run failed."""
        if SESSION not in self.config.stash:
            return
        contracts = session_of(self.config)
        for title, lines in contracts.summarise(os.environ):
            terminalreporter.section(title)
            for line in lines:
                terminalreporter.line(line)
        for complaint in self.complaints:
            terminalreporter.line(f"ERROR: {complaint}", red=True, bold=True)


def session_of(config: pytest.Config) -> ContractSession:
    """Give the session's state, made when it is first needed."""
    if SESSION not in config.stash:
        from eagle3_contracts.testing.session import ContractSession

        configured_in = config.inipath.parent if config.inipath else config.rootpath
        places = Places(config.getoption, config.getini, os.environ, Path(config.invocation_params.dir), configured_in)
        config.stash[SESSION] = ContractSession(places, project=config.rootpath)
    return config.stash[SESSION]


def _marks_of(case: Case) -> list[pytest.MarkDecorator]:
    """Keep a server's cases on one worker of pytest-xdist (``--dist loadgroup``): it is probed once, alone.

    pytest-xdist 3.8.0 loses the group under pytest 9.2; there ``--dist loadfile`` does the same.
    """
    if case.subject is None or case.subject.stage != "server":
        return []
    return [pytest.mark.xdist_group(f"server {case.subject.label}")]


def _case_of(item: pytest.Item) -> Case | None:
    callspec = getattr(item, "callspec", None)
    return None if callspec is None else callspec.params.get("contract_case")


def _is_suite(item: pytest.Item) -> bool:
    """Tell whether a test is one of this package's own, wherever it was imported to."""
    return isinstance(item, pytest.Function) and item.function.__module__.startswith(SUITE)
