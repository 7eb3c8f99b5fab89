"""What is said of a good artifact: no must is violated, and none is left unchecked."""

from __future__ import annotations

from collections.abc import Iterable

from eagle3_contracts.findings import Finding, Level, Verdict
from support.museum.exhibits import sum_up, tell


def assert_good(findings: Iterable[Finding], *decided: str) -> None:
    """Fail if a must is violated or unchecked, or if one of these clauses did not pass."""
    found = list(findings)
    musts = [item for item in found if item.level == Level.MUST]
    assert not [item for item in musts if item.verdict in {Verdict.FAILED, Verdict.ERRORED}], tell(musts)
    passed = {name for name, verdict in sum_up(found).items() if verdict == Verdict.PASSED}
    assert passed >= set(decided), (sorted(set(decided) - passed), tell(found))
