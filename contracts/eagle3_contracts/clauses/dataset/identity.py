"""Which states are whose: planes and samples stored twice, and samples with the states of another."""

from __future__ import annotations

from eagle3_contracts.clauses.bounds import UNLIKE
from eagle3_contracts.clauses.dataset.files import find_obstacle
from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle
from eagle3_contracts.clauses.rows import name_plane
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import DatasetEvidence, Stranger
from eagle3_contracts.findings import Finding, Level, Rung, Verdict, Where
from eagle3_contracts.registry import Clause

_SHOWN = 4


def check_distinct(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for every pair of planes that are equal in a sample; skipped if there is one plane only."""
    obstacle = find_obstacle(evidence, values=True)
    planes, count = contract.stored_planes(evidence.format), len(evidence.planes)
    if obstacle is None and count < 2:
        obstacle = Obstacle("one plane has no other to be equal to", skips=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    findings = []
    for (one, other), tally in sorted(evidence.identical_planes.items()):
        if not tally.count or _is_zero(evidence, one) or _is_zero(evidence, other):
            continue
        names = f"{name_plane(planes, one, count)} and {name_plane(planes, other, count)}"
        findings.append(
            clause.find(
                Verdict.FAILED,
                evidence.subject,
                observed=f"planes {names} are equal in {tally.count:,} of {evidence.samples:,} samples",
                where=Where(file=tally.place.file, plane=name_plane(planes, other, count)),
                measure=float(tally.count),
                bound=0.0,
                hint="an id stands twice in the list, or one buffer was stored for both: copy each plane when captured",
            )
        )
    observed = f"no two of {count} planes are equal in any of {evidence.samples:,} samples"
    return findings or [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]


def _is_zero(evidence: DatasetEvidence, index: int) -> bool:
    """Tell whether a plane is zeros throughout: equal to another such plane, which is ``dataset.zero-rows``'s fault."""
    record = evidence.planes[index]
    return record.zero.count == record.rows


def check_duplicates(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for samples of different tokens with the same states; a sample stored more than once is a should."""
    del contract
    obstacle = find_obstacle(evidence, values=True)
    if obstacle is None and not evidence.state_digests:
        obstacle = Obstacle("no digest of a sample's states was taken")
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    doubles = [tally for tally in evidence.state_digests.values() if tally.count > 1]
    surplus = sum(tally.count - 1 for tally in doubles)
    again = sum(tally.count - 1 for tally in evidence.token_digests.values())
    if not doubles:
        note = f"; {again:,} repeat another's token ids, with states of their own" if again else ""
        observed = f"{evidence.samples:,} samples, no states twice{note}"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    foreign = surplus > again
    whose = "beside other token ids" if foreign else "with their token ids"
    files = ", ".join(dict.fromkeys(where.file for where in doubles[0].first if where.file))
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"the states of {surplus:,} of {evidence.samples:,} samples are stored before, {whose} "
            f"(first: {files})",
            where=next(reversed(doubles[0].first), Where()),
            measure=float(surplus),
            bound=0.0,
            level=None if foreign else Level.SHOULD,
            hint="a resumed or merged dump wrote samples twice, or one buffer was written for several; remove the "
            "doubles and capture again those whose token ids are not the states'",
        )
    ]


def check_identity(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail for samples whose states the target does not compute from their token ids."""
    del contract
    obstacle = find_obstacle(evidence)
    comparison = evidence.comparison
    if obstacle is None and comparison is not None and not evidence.recaptured:
        reason = "no sample was computed again from its token ids"
        obstacle = Obstacle(reason, "give samples with as many rows as token ids", rung=comparison.rung)
    if obstacle is not None or comparison is None:
        return [(obstacle or NO_TARGET).finding(clause, evidence.subject)]
    strangers, total = evidence.strangers, evidence.recaptured
    if not strangers:
        observed = f"{total:,} of {evidence.samples:,} samples were computed again, and hold their own states"
        hint = "more of them: --contract-probes N (check: --probes N)" if total < evidence.samples else ""
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, rung=comparison.rung, hint=hint)]
    told = "; ".join(_say_stranger(item) for item in strangers[:_SHOWN])
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{len(strangers)} of {total:,} samples hold states that are not theirs ({total:,} of "
            f"{evidence.samples:,} were computed again): {told}",
            where=strangers[0].where,
            rung=comparison.rung,
            measure=strangers[0].distance,
            bound=UNLIKE,
            hint=_say_hint(evidence),
        )
    ]


def others_states(evidence: DatasetEvidence) -> Obstacle | None:
    """Say that most samples hold another sample's states, so that planes cannot be placed; None otherwise."""
    matched = [item for item in evidence.strangers if item.match is not None]
    if not matched or 2 * len(matched) < evidence.recaptured:
        return None
    reason = (
        f"{len(matched)} of {evidence.recaptured} samples hold another sample's states: {_say_stranger(matched[0])}"
    )
    return Obstacle(reason, "see dataset.identity", matched[0].where, Rung.FULL)


def _say_stranger(item: Stranger) -> str:
    if item.match is not None:
        return f"{item.where} holds the states of {item.match}"
    return f"{item.where} is {item.distance:.3g} from the nearest boundary"


def _say_hint(evidence: DatasetEvidence) -> str:
    matched = [item for item in evidence.strangers if item.match is not None]
    if matched:
        return "names and contents of files have come apart: capture again, or rename by the token ids inside"
    if len(evidence.strangers) == evidence.recaptured:
        return (
            "no sample fits its token ids: another target or revision, another tokenizer or chat template, or states "
            "of other requests throughout (clear keys, values and buffers between requests)"
        )
    return "states of other requests: capture these samples again, alone, and clear keys, values and buffers in between"
