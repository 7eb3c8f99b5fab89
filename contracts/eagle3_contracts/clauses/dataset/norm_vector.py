"""Whether a final state is normed as declared, told by the final norm's weight alone (``dataset.norm-vector``)."""

from __future__ import annotations

from eagle3_contracts.clauses.bounds import NORMED, NOT_NORMED
from eagle3_contracts.clauses.dataset.files import find_obstacle
from eagle3_contracts.clauses.norm_states import read_norm_state
from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle
from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import DatasetEvidence
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause


def check_norm_vector(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if a post-norm plane is not at 1, or a pre-norm plane is: rms(row / weight), median over tokens.

    Planes below boundary n are not judged: SmolLM2's boundary 1 happens to lie at 1.02.
    """
    obstacle = find_obstacle(evidence)
    values = evidence.comparison.norm_vector_rms if evidence.comparison else None
    if obstacle is not None or evidence.comparison is None or values is None:
        return [(obstacle or NO_TARGET).finding(clause, evidence.subject)]
    planes, rung = contract.stored_planes(evidence.format), Rung.NORM
    finals = [(index, plane) for index, plane in enumerate(planes) if plane.is_final]
    if not finals:
        reason = (
            f"no plane at boundary {contract.target.num_hidden_layers} is stored, and no other passes the final norm"
        )
        return [Obstacle(reason, skips=True, rung=rung).finding(clause, evidence.subject)]
    if len(values) != len(planes):
        reason = f"{len(values)} planes came, {len(planes)} are declared: which is the final state cannot be told"
        return [Obstacle(reason, f"see {clause.stage}.plane-count", rung=rung).finding(clause, evidence.subject)]
    return [_judge(clause, evidence.subject, plane, float(values[index]), rung) for index, plane in finals]


def _judge(clause: Clause, subject: str, plane: Plane, value: float, rung: Rung) -> Finding:
    state = read_norm_state(value)
    declared_normed = plane.state == "post_norm"
    verdict = Verdict.PASSED if state == plane.state else Verdict.FAILED if state else Verdict.ERRORED
    told = state.replace("_", "-") if state else "neither clearly post-norm nor pre-norm"
    return clause.find(
        verdict,
        subject,
        observed=f"plane {plane.name} is {told}: rms(row / final norm weight) is {value:.4g} in the median",
        expected=f"{plane.state.replace('_', '-')}: {_say_range(declared_normed)}",
        where=Where(plane=plane.name),
        rung=rung,
        measure=value,
        bound=NORMED[1] if declared_normed else NOT_NORMED[1],
        hint="" if verdict is Verdict.PASSED else _say_hint(verdict, declared_normed=declared_normed),
    )


def _say_range(declared_normed: bool) -> str:  # noqa: FBT001 - a value of the contract
    low, high = NORMED if declared_normed else NOT_NORMED
    return f"between {low:g} and {high:g}" if declared_normed else f"outside {low:g} to {high:g}"


def _say_hint(verdict: Verdict, *, declared_normed: bool) -> str:
    if verdict is Verdict.ERRORED:
        return "the norm's weight alone cannot tell here: give the target's norm and head, or all of it"
    if declared_normed:
        return (
            "apply the target's final norm before storing (vLLM's id n and speculators' last plane are pre-norm), or "
            'declare state = "pre_norm" for this format (storage.formats)'
        )
    return (
        "tap the last layer's output: transformers' hidden_states[n], SpecForge and ModelOpt give the state after the "
        'norm; or declare state = "post_norm" for this format (storage.formats)'
    )
