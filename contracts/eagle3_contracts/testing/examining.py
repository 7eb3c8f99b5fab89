"""Examining subjects clause by clause: each contract and each subject is read once per process.

Standard library only until the first clause is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause
from eagle3_contracts.run import gather_evidence, is_absent, judge_clause, skip_absent
from eagle3_contracts.subjects import Options, Subject, SubjectError

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract


@dataclass(slots=True)
class Examination:
    """Contracts and evidence read so far, and the judging of clauses on them."""

    options: Options
    _contracts: dict[str, Contract] = field(default_factory=dict)
    _evidence: dict[tuple[str, Subject, int], Any] = field(default_factory=dict)

    def read_contract(self, reference: str) -> Contract:
        """Load a contract once; raise ``ContractError`` if it cannot be used."""
        if reference not in self._contracts:
            from eagle3_contracts.contract import load_contract

            self._contracts[reference] = load_contract(reference)
        return self._contracts[reference]

    def judge(self, clause: Clause, contract: Contract, subject: Subject) -> tuple[Finding, ...]:
        """Judge one clause; a subject that cannot be used at all is an errored finding for every clause.

        One that nobody named and whose package is not installed is skipped.
        """
        if is_absent(subject):
            return (skip_absent(clause, subject),)
        evidence = self._gather(contract, subject)
        if isinstance(evidence, SubjectError):
            return (_unusable(clause, subject, evidence),)
        return tuple(judge_clause(clause, contract, evidence))

    def _gather(self, contract: Contract, subject: Subject) -> Any:
        key = (contract.digest, subject, id(subject.code))
        if key not in self._evidence:
            try:
                self._evidence[key] = gather_evidence(contract, subject, self.options)
            except SubjectError as error:
                self._evidence[key] = error
        return self._evidence[key]


def _unusable(clause: Clause, subject: Subject, error: SubjectError) -> Finding:
    return clause.find(
        Verdict.ERRORED,
        subject.label,
        observed=error.reason,
        where=Where(file=error.source),
        hint=error.remedy,
    )
