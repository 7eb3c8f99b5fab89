"""What a run of tests has established so far: findings, absences, and whether that is enough.

Standard library only. Tests may run in other processes: what they found travels as text, in the properties of
their reports (pytest writes the same properties into JUnit XML), and is read back here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from eagle3_contracts.findings import Finding, Verdict, decides, leaves_open, worst
from eagle3_contracts.registry import CLAUSES, STAGES
from eagle3_contracts.reports.json_report import decode_finding, encode_finding
from eagle3_contracts.subjects import Subject
from eagle3_contracts.testing.expectations import Expectation

CLAUSE, SUBJECT, VERDICT = "contract.clause", "contract.subject", "contract.verdict"
DOCUMENT, FINDINGS, EXPECTED, ABSENT = "contract.document", "contract.findings", "contract.expected", "contract.absent"


def write_properties(
    findings: Sequence[Finding], contract: tuple[str, str], subject: Subject, expected: Expectation | None
) -> tuple[tuple[str, str], ...]:
    """Write what a test found as properties; ``contract`` is the reference and the digest.

    What was expected is told of a violation only: of a clause that was skipped nothing came true.
    """
    properties = [
        (DOCUMENT, " ".join(contract)),
        (SUBJECT, json.dumps([subject.stage, subject.value, subject.label])),
        (FINDINGS, json.dumps([encode_finding(item) for item in findings])),
    ]
    if findings:
        properties.append((VERDICT, str(worst(item.verdict for item in findings))))
    if expected and any(item.verdict is Verdict.FAILED for item in findings):
        properties.append((EXPECTED, str(expected)))
    return tuple(properties)


@dataclass(slots=True)
class Ledger:
    """All that the tests of a run reported.

    ``collected`` and ``selected``: cases before and after deselection; ``others``: selected tests that are no
    cases. ``absent``: stages that had no subject. ``silent``: clauses whose test ended without any finding.
    ``refusals``: sentences of processes that could not start (a usage error).
    """

    collected: int = 0
    selected: int = 0
    others: int = 0
    findings: list[Finding] = field(default_factory=list)
    subjects: dict[Subject, None] = field(default_factory=dict)
    contracts: dict[tuple[str, str], None] = field(default_factory=dict)
    expected: dict[str, str] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    silent: list[str] = field(default_factory=list)
    refusals: dict[str, None] = field(default_factory=dict)

    def count(self, collected: int, selected: int, others: int) -> None:
        """Take over one process's counts; every worker collects all tests, so they are not added up."""
        self.collected = max(self.collected, collected)
        self.selected = max(self.selected, selected)
        self.others = max(self.others, others)

    def enter(self, properties: Mapping[str, str]) -> None:
        """Enter one test's properties; tests that are no cases are left alone."""
        if CLAUSE not in properties:
            return
        if ABSENT in properties:
            self.absent.add(properties[ABSENT])
        elif FINDINGS not in properties:
            self.silent.append(properties[CLAUSE])
        else:
            self._enter_findings(properties)

    def _enter_findings(self, properties: Mapping[str, str]) -> None:
        found = [decode_finding(record) for record in json.loads(properties[FINDINGS])]
        self.findings += found
        self.subjects[Subject(*json.loads(properties[SUBJECT]))] = None
        reference, _, digest = properties[DOCUMENT].rpartition(" ")
        self.contracts[reference, digest] = None
        if EXPECTED in properties:
            self.expected[f"{properties[CLAUSE]} on {found[0].subject}"] = properties[EXPECTED]

    @property
    def ran(self) -> bool:
        """Whether any case ran at all."""
        return bool(self.findings or self.absent or self.silent)

    def ordered(self) -> list[Finding]:
        """Give the findings in the registry's order, whatever process made them first."""
        ranks = {item.id: rank for rank, item in enumerate(CLAUSES)}
        places = {subject.label: place for place, subject in enumerate(sorted(self.subjects, key=_subject_rank))}
        return sorted(
            self.findings,
            key=lambda item: (STAGES.index(item.stage), places.get(item.subject, -1), ranks[item.clause]),
        )

    def complaints(self, required: Sequence[str]) -> list[str]:
        """Say, one sentence each, why the run proves less than was asked for."""
        complaints = []
        if self.ran and not decides(self.findings):
            complaints.append(self._explain_undecided())
        for stage in required:
            complaints += self._unmet(stage)
        return complaints

    def _explain_undecided(self) -> str:
        reasons = [f"no {stage} was given" for stage in STAGES if stage in self.absent]
        skipped = sum(item.verdict is Verdict.SKIPPED for item in self.findings)
        errored = sum(item.verdict is Verdict.ERRORED for item in self.findings)
        reasons += [f"{skipped} skipped"] if skipped else []
        reasons += [f"{errored} could not be checked"] if errored else []
        reasons += [f"{len(self.silent)} tests ended without a finding"] if self.silent else []
        return "no clause passed or failed, so this run proves nothing: " + "; ".join(reasons)

    def _unmet(self, stage: str) -> list[str]:
        """Say what of a required stage was not checked; a clause that does not apply is no gap."""
        here = [item for item in self.findings if item.stage == stage]
        open_ = dict.fromkeys(
            f"{item.clause} on {item.subject} was {item.verdict}: {item.observed}; {item.hint}"
            for item in here
            if leaves_open(item)
        )
        open_ |= dict.fromkeys(f"{clause} has no finding" for clause in self.silent if clause.startswith(f"{stage}."))
        if not here and not open_:
            return [f"the stage {stage} is required, but none of its clauses was checked"]
        return [f"the stage {stage} is required, but {reason}" for reason in open_]


def _subject_rank(subject: Subject) -> tuple[int, str]:
    return STAGES.index(subject.stage), subject.label
