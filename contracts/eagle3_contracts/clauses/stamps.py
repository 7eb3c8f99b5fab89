"""How an artifact is held against its stamp, and what had to be assumed of one without."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from eagle3_contracts.contract.stamp import Contradiction, contradictions
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

_SHOWN = 80


def judge_stamp(
    clause: Clause, subject: str, thing: str, stamp: Mapping[str, Any], declared: Mapping[str, Any], where: Where
) -> Iterator[Finding]:
    """Fail once for each key of the stamp that the contract says otherwise, or pass and say what agrees."""
    found = contradictions(stamp, declared)
    for item in found:
        yield clause.find(
            Verdict.FAILED,
            subject,
            observed=_say_observed(thing, item),
            expected=_say_expected(item),
            where=where if item.key == "contract" else Where(file=where.file, flag=item.key),
            measure=1.0,
            bound=0.0,
            hint=_say_hint(item, declared),
        )
    if not found and any(key in stamp for key in declared):
        agreeing = ", ".join(key for key in declared if key in stamp)
        yield clause.find(
            Verdict.PASSED,
            subject,
            observed=f"the {thing} is stamped for {stamp.get('contract', 'no contract')}"
            + ("" if agreeing == "contract" else f"; {agreeing} agree"),
            expected=f"a stamp for {declared['contract']}, or none",
            where=where,
            measure=0.0,
            bound=0.0,
        )


def say_assumed(declared: Mapping[str, Any]) -> str:
    """Say what nothing but the contract vouches for, in an artifact without a stamp."""
    final = declared.get("final_state")
    told = [f"boundaries {', '.join(map(str, declared['boundaries']))}"]
    told += [f"final state {str(final).replace('_', '-')}"] if final else []
    shifts = ", ".join(f"{name} {'/'.join(map(str, values))}" for name, values in declared["alignment"].items())
    return f"no stamp, so these are assumed from the contract: {'; '.join(told)}; alignment {shifts}"


def _say_observed(thing: str, item: Contradiction) -> str:
    if item.key == "contract":
        return f"the {thing} is stamped for {_say(item.said)}"
    if item.key == "contract_digest":
        return f"stamped when the contract's digest was {_say(item.said)}"
    return f"the stamp says {item.key} = {_say(item.said)}"


def _say_expected(item: Contradiction) -> str:
    if item.key == "contract":
        return f"a stamp for {item.declared}, or none"
    if item.key == "contract_digest":
        return f"{item.declared}: the document has changed under the same version"
    return f"{item.key} = {_say(item.declared)}"


def _say_hint(item: Contradiction, declared: Mapping[str, Any]) -> str:
    own = declared["contract"]
    if item.key == "contract":
        return (
            "check it against the contract it was made for, or see what changed: `eagle3-contracts diff "
            f"{_say(item.said)} {own}`"
        )
    if item.key == "contract_digest":
        return "a released version never changes: give what changed a version of its own, or stamp the artifact again"
    return f"make the artifact again by {own}, or check it against the contract whose {item.key} these are"


def _say(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
