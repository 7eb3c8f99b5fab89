"""One session of tests: the choices, the cases they make, what was found, and whether that is enough.

Standard library only, and no pytest: the plugin passes in where values come from, and asks.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.reports.github import annotate, append_summary, is_github
from eagle3_contracts.reports.html import write_html
from eagle3_contracts.reports.json_report import write_json
from eagle3_contracts.reports.terminal import describe_counts, describe_finding, describe_reservations, violated_shoulds
from eagle3_contracts.run import Report
from eagle3_contracts.testing.examining import Examination
from eagle3_contracts.testing.expectations import Expectation, read_expectations
from eagle3_contracts.testing.ledger import ABSENT, Ledger, write_properties
from eagle3_contracts.testing.outcomes import Conclusion, Outcome, conclude
from eagle3_contracts.testing.selection import (
    Case,
    Offered,
    Selection,
    adopt_subject,
    cases_of,
    demand_contract,
    demand_subject,
    explain_absence,
    select,
)
from eagle3_contracts.testing.settings import Given, Places, SettingError, read_options, read_settings

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract


@dataclass
class ContractSession:
    """What the plugin keeps for one session. ``project``: the folder of the pyproject.toml with expected failures.

    ``asked``: clauses were asked for by an option or by ``-m contract``, so a run without any is an error
    even where other tests passed.
    """

    places: Places
    project: Path
    asked: bool = False
    ledger: Ledger = field(default_factory=Ledger)

    @cached_property
    def given(self) -> dict[str, Given]:
        """The settings; ``SettingError`` for one that is empty or unknown."""
        return read_settings(self.places)

    @cached_property
    def selection(self) -> Selection:
        """The choices; ``SettingError`` where they contradict each other."""
        return select(self.given)

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """The project's expected failures; ``SettingError`` for an entry that cannot be meant."""
        return read_expectations(self.project)

    @cached_property
    def examination(self) -> Examination:
        """Contracts and evidence read so far."""
        return Examination(self.selection.options)

    @property
    def options_given(self) -> tuple[str, ...]:
        """The options that stand on the command line."""
        return read_options(self.places)

    def list_cases(self, stage: str) -> Sequence[Case]:
        """List a stage's cases; where the choices cannot be followed, the cases have no subject."""
        selection = Selection()
        with contextlib.suppress(SettingError):  # told by ``verify``, once for all cases
            selection = self.selection
        return cases_of(stage, selection)

    def verify(self, *, suite: bool, listing: bool) -> None:
        """Refuse to start on choices that cannot be followed or on a broken contract.

        ``suite``: tests of this package are among those selected, which take subject and contract from
        the settings.
        ``listing``: nothing will be checked, so no subject is needed and no contract is read (pydantic).
        Raises ``SettingError``; a ``ContractError`` becomes one.
        """
        selection, _ = self.selection, self.expectations
        if listing:
            return
        if suite:
            demand_subject(selection)
            demand_contract(selection)
        if selection.contract is not None:
            with told_as_setting_error():
                self.examination.read_contract(selection.contract)

    def check(self, case: Case, subject: Offered | None, document: Contract | str | Path | None) -> Conclusion:
        """Check one clause on what the fixtures gave, and conclude; ``SettingError`` if they gave nothing usable."""
        stage = case.clause.stage
        if subject is None:
            demand_subject(self.selection)
            return Conclusion(Outcome.SKIPPED, explain_absence(stage), properties=((ABSENT, stage),))
        adopted = adopt_subject(stage, subject)
        contract = self._read_contract(document)
        findings = self.examination.judge(case.clause, contract, adopted)
        expected = self.expectation(case.clause.id, adopted.label)
        names = (contract.reference, contract.digest)
        return replace(
            conclude(findings, expected, strict=self.selection.strict),
            findings=findings,
            properties=write_properties(findings, names, adopted, expected),
        )

    def _read_contract(self, document: Contract | str | Path | None) -> Contract:
        if document is None:
            demand_contract(self.selection)
        if document is None or isinstance(document, str | Path):
            with told_as_setting_error():
                return self.examination.read_contract(str(document))
        return document

    def expectation(self, clause: str, subject: str) -> Expectation | None:
        """Find the expected failure that is about a clause on a subject, the one that names the subject first."""
        covering = [item for item in self.expectations if item.covers(clause, subject)]
        return min(covering, key=lambda item: item.subject is None, default=None)

    def complaints(self) -> list[str]:
        """Say why the run proves less than was asked for; empty if it is enough."""
        ledger = self.ledger
        if ledger.refusals:
            return list(ledger.refusals)
        if ledger.ran:
            return ledger.complaints(self.selection.required)
        unheard = self.asked or not ledger.others
        if ledger.collected and unheard:
            counted = f"{ledger.collected} were collected, and all of them were deselected (-k, -m) or left out"
            return [f"no clause was checked: {counted}; this run proves nothing"]
        if self.options_given or (self.asked and not ledger.others):
            why = f"{self.options_given[0]} was given" if self.options_given else "-m contract was given"
            remedy = "run `pytest --pyargs eagle3_contracts.suite`, or a test with @parametrize_with_clauses"
            return [f"no clause was checked: {why}, but no test that holds clauses was collected; {remedy}"]
        return []

    def finish(self, environ: Mapping[str, str]) -> list[str]:
        """End the run: write the reports; give the complaints, a report that could not be written among them."""
        complaints = self.complaints()
        if self.ledger.refusals or not (self.ledger.ran or complaints):
            return complaints
        try:
            selection = self.selection
        except SettingError as error:
            return [*complaints, str(error)]
        notes, report = tuple(complaints), self.report()
        extra = {"expected_failures": self.ledger.expected, "complaints": complaints}
        for path in selection.reports:
            try:
                write_json(path, report, extra) if path.suffix == ".json" else write_html(path, report, notes)
            except OSError as error:
                complaints.append(f"the report {path} cannot be written: {error.strerror}")
        if is_github(environ):
            with contextlib.suppress(OSError):  # the summary page is GitHub's, and no part of the verdict
                append_summary(environ, report, notes)
        return complaints

    def summarise(self, environ: Mapping[str, str]) -> Iterator[tuple[str, list[str]]]:
        """Give the sections of the summary: title and lines."""
        if not self.ledger.ran:
            return
        report = self.report()
        names = [f"contract   {report.contract}, digest {report.digest[:16]}"] if report.findings else []
        absent = [f"{stage:<10} not checked: {explain_absence(stage)}" for stage in sorted(self.ledger.absent)]
        lines = [*names, *describe_counts(report.findings), *describe_reservations(report.findings), *absent]
        yield "EAGLE-3 contracts", lines
        if soft := violated_shoulds(report.findings):
            yield "EAGLE-3 contracts: violations of a should", "\n\n".join(map(describe_finding, soft)).splitlines()
        if self.ledger.expected:
            lines = [f"{what}: {why}" for what, why in self.ledger.expected.items()]
            yield "EAGLE-3 contracts: expected failures", lines
        if is_github(environ):
            yield "EAGLE-3 contracts: annotations", list(annotate(report.findings))

    def report(self) -> Report:
        """Give all findings as one report."""
        contracts = list(self.ledger.contracts) or [(self.selection.contract or "", "")]
        subjects = tuple(s for s in self.ledger.subjects if s.stage != "contract")
        return Report(
            ", ".join(reference for reference, _ in contracts),
            ", ".join(digest for _, digest in contracts),
            subjects,
            tuple(self.ledger.ordered()),
        )


@contextlib.contextmanager
def told_as_setting_error() -> Iterator[None]:
    """Raise a ``ContractError`` as a ``SettingError``: a broken contract is a choice that cannot be followed."""
    try:
        yield
    except Exception as error:
        from eagle3_contracts.contract import ContractError

        if isinstance(error, ContractError):
            raise SettingError(str(error)) from None
        raise
