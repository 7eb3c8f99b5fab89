"""What the capture code answered: that it did, and the shapes, ids and dtype of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CapturedRequest, CaptureEvidence, Problem
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

NOT_THE_CODE = frozenset({"needs", "target"})
"""Kinds of problems that are not the capture code's: a package is missing, or the target cannot be used."""


def find_obstacle(evidence: CaptureEvidence) -> Obstacle | None:
    """Say why there is no answer to judge, or give None if there is one."""
    if evidence.alone:
        return None
    problem = first_problem(evidence.problems)
    if problem is not None:
        return from_problem(problem)
    return Obstacle("the capture was not run, so that there is no answer to judge", "report this as a defect")


def name_request(number: int, request: CapturedRequest) -> str:
    """Name a request by its number and length: ``request 2 (33 tokens)``."""
    return f"request {number} ({len(request.given)} tokens)"


def check_runs(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if the code raised or gave an answer that holds no token ids and planes [planes, tokens, hidden]."""
    del contract
    broken = [problem for problem in evidence.problems if _breaks(problem, evidence)]
    if broken:
        first = broken[0]
        return [
            clause.find(
                Verdict.FAILED,
                evidence.subject,
                observed=first.reason,
                where=first.where,
                measure=float(len(broken)),
                bound=0.0,
                hint=first.remedy,
            )
        ]
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    lengths = ", ".join(str(len(request.given)) for request in evidence.alone)
    together = ", in one batch" if evidence.batched else ""
    again = ", and again after one another" if evidence.repeated else ""
    observed = f"answers {say_count(len(evidence.alone), 'request')} ({lengths} tokens) alone{together}{again}"
    notes = "; ".join(evidence.notes)
    return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, hint=notes)]


def _breaks(problem: Problem, evidence: CaptureEvidence) -> bool:
    """Tell whether a problem breaks the protocol; planes that do not stack have clauses of their own."""
    if problem.kind == "ragged":
        return any(len(shape) != 2 for request in evidence.alone for shape in request.shapes)
    return problem.kind not in NOT_THE_CODE


def check_plane_count(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a request gives more or fewer planes than ``storage.planes`` lists."""
    names = [plane.name for plane in contract.stored_planes()]

    def odd(request: CapturedRequest) -> str:
        return f"{len(request.shapes)} planes" if len(request.shapes) != len(names) else ""

    hint = (
        "an id that the engine never reaches leaves its plane out, and one given twice is captured once; "
        f"`eagle3-contracts explain {contract.reference}` lists ids that work"
    )
    return _judge_each(clause, evidence, odd, hint, f"{len(names)} planes: {', '.join(names)}")


def check_width(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a plane is not as wide as the target's residual stream."""
    hidden = contract.target.hidden_size

    def odd(request: CapturedRequest) -> str:
        widths = [shape[-1] if shape else 0 for shape in request.shapes]
        wrong = [width for width in widths if width != hidden]
        if wrong and wrong[0] and wrong[0] % hidden == 0:
            return f"planes {wrong[0]} wide, {wrong[0] // hidden} planes side by side"
        return f"planes {', '.join(map(str, widths))} wide" if wrong else ""

    hint = "give planes one by one as [tokens, hidden]; the width is the target's, not the drafter's"
    return _judge_each(clause, evidence, odd, hint, f"planes {hidden} wide (target.hidden_size)")


def check_rows(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a plane has more or fewer rows than the request has token ids."""
    del contract

    def odd(request: CapturedRequest) -> str:
        tokens = len(request.token_ids)
        rows = [shape[-2] if len(shape) > 1 else 0 for shape in request.shapes]
        return f"{', '.join(map(str, rows))} rows for {tokens} token ids" if any(row != tokens for row in rows) else ""

    hint = "switch off prefix caching and chunked prefill while capturing, or join the chunks; cut padding rows off"
    return _judge_each(clause, evidence, odd, hint, "one row per token id in every plane")


def check_token_ids(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if the token ids that come back are not those asked for."""
    del contract
    if evidence.form == "single" and evidence.alone:
        reason = "; ".join(evidence.notes) or "the capture returns planes alone, without token ids"
        return [Obstacle(reason, skips=True).finding(clause, evidence.subject)]

    def odd(request: CapturedRequest) -> str:
        if request.token_ids == request.given:
            return ""
        pairs = zip(request.token_ids, request.given, strict=False)
        place = next((place for place, (back, asked) in enumerate(pairs) if back != asked), None)
        if place is None:
            return f"{len(request.token_ids)} token ids back, {len(request.given)} asked for"
        return f"token {place} comes back as id {request.token_ids[place]}, asked for {request.given[place]}"

    hint = "capture the ids that training uses: no chat template, no special token added, no truncation in between"
    return _judge_each(clause, evidence, odd, hint)


def check_dtype(clause: Clause, contract: Contract, evidence: CaptureEvidence) -> list[Finding]:
    """Fail if a plane has another dtype than ``storage.dtype`` (absent: ``target.dtype``)."""
    declared = contract.storage.dtype or contract.target.dtype

    def odd(request: CapturedRequest) -> str:
        return f"planes in {request.dtype}" if request.dtype != declared else ""

    hint = f"store states as they are computed, in {declared}; a silent cast to float16 overflows above 65,504"
    return _judge_each(clause, evidence, odd, hint, f"planes in {declared}")


def _judge_each(
    clause: Clause, evidence: CaptureEvidence, odd: Callable[[CapturedRequest], str], hint: str, expected: str = ""
) -> list[Finding]:
    """Fail with the first request of which ``odd`` says something, and the number of them."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    told = list(_tell_odd(evidence, odd))
    total = len(evidence.alone)
    if not told:
        observed = f"{total} of {total} requests as declared"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, expected=expected)]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{told[0]}; {len(told)} of {total} requests",
            expected=expected,
            measure=float(len(told)),
            bound=0.0,
            hint=hint,
        )
    ]


def _tell_odd(evidence: CaptureEvidence, odd: Callable[[CapturedRequest], str]) -> Iterator[str]:
    for number, request in enumerate(evidence.alone, 1):
        what = odd(request)
        if what:
            yield f"{name_request(number, request)}: {what}"
