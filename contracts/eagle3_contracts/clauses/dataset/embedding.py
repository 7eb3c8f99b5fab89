"""Embedding planes: told without weights by repeated tokens, and with the embedding by equality."""

from __future__ import annotations

import math

from eagle3_contracts.clauses.bounds import CONTEXT_SHARE, EMBEDDING_SHARE, LEAST_PAIRS, SEPARATION
from eagle3_contracts.clauses.dataset.files import find_obstacle
from eagle3_contracts.clauses.dataset.shapes import stored_dtypes
from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle
from eagle3_contracts.clauses.rows import name_plane
from eagle3_contracts.clauses.tolerances import governing_tolerance
from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence import DatasetEvidence, PlaneRecord
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause

_FIRST = (
    "the tool captured the embedding output as the first plane, or the ids start one boundary early; "
    "`eagle3-contracts explain {reference}` lists the ids for every tool"
)

SCALED = Obstacle(
    "the states are quantised with one scale per token over all planes, so that equal rows are stored with other bits "
    "(hs-connectors 0.9.0, fp8_utils.py)",
    "give the embedding or the whole target (--contract-target DIR): dataset.embedding-rows decides then",
    skips=True,
)


def check_embedding_repeats(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if rows of one token id are not bit-identical at boundary 0, or are so in another plane."""
    obstacle = find_obstacle(evidence, values=True)
    planes, count = contract.stored_planes(evidence.format), len(evidence.planes)
    if obstacle is None and all(dtype.startswith("float8") for dtype in stored_dtypes(contract, evidence)[1:]):
        obstacle = SCALED
    if obstacle is None and count != len(planes):
        reason = f"{count} planes came, {len(planes)} are declared: {_say_shares(evidence)}"
        obstacle = Obstacle(reason, f"see {clause.stage}.plane-count", rung=Rung.NONE)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    findings = [
        _judge_repeats(clause, contract, evidence, plane, record)
        for plane, record in zip(planes, evidence.planes, strict=True)
    ]
    return [item for item in findings if item.verdict is not Verdict.PASSED] or [
        clause.find(
            Verdict.PASSED,
            evidence.subject,
            observed=f"share of repeated tokens with bit-identical rows: {_say_shares(evidence, planes)}",
            rung=Rung.NONE,
            measure=max(_share(record) for record in evidence.planes),
            bound=EMBEDDING_SHARE,
        )
    ]


def _judge_repeats(
    clause: Clause, contract: Contract, evidence: DatasetEvidence, plane: Plane, record: PlaneRecord
) -> Finding:
    share, where = _share(record), Where(plane=plane.name)
    is_embedding = plane.boundary == 0
    obstacle = _find_want_of_pairs(plane, record)
    if obstacle is not None:
        return obstacle.finding(clause, evidence.subject)
    holds = share >= EMBEDDING_SHARE if is_embedding else share <= CONTEXT_SHARE
    fails = share <= CONTEXT_SHARE if is_embedding else share >= EMBEDDING_SHARE
    observed, hint = _tell_share(contract, plane, record) if holds or fails else _tell_mixture(plane, record)
    return clause.find(
        Verdict.PASSED if holds else Verdict.FAILED if fails else Verdict.ERRORED,
        evidence.subject,
        observed=observed,
        expected=f"a share of at least {EMBEDDING_SHARE:.0%} at boundary 0, of at most {CONTEXT_SHARE:.0%} elsewhere",
        where=where,
        rung=Rung.NONE,
        measure=share,
        bound=EMBEDDING_SHARE if is_embedding else CONTEXT_SHARE,
        hint=hint,
    )


def _find_want_of_pairs(plane: Plane, record: PlaneRecord) -> Obstacle | None:
    """Say that too few tokens repeat in a plane, or that it is mostly zeros; None if there are enough."""
    pairs = record.repeat_pairs
    if pairs >= LEAST_PAIRS and record.zero.count * 2 <= record.rows:
        return None
    reason = (
        f"plane {plane.name}: {pairs} pairs of repeated tokens in {record.rows:,} rows, {record.zero.count:,} zeros"
    )
    hint = f"read more of the dataset (--contract-scan full); {LEAST_PAIRS} pairs of rows that are not zero are needed"
    return Obstacle(reason, hint, Where(plane=plane.name), Rung.NONE)


def _tell_share(contract: Contract, plane: Plane, record: PlaneRecord) -> tuple[str, str]:
    """Say what a plane is by its repeated tokens, and what to do if it should not be."""
    share = _share(record)
    observed = (
        f"plane {plane.name} (declared boundary {plane.boundary}) has bit-identical rows for {share:.1%} of "
        f"{record.repeat_pairs:,} repeated tokens: it is {'an' if share >= EMBEDDING_SHARE else 'no'} embedding output"
    )
    hint = (
        "the states of this plane depend on context, so that it is a later boundary, or noise was added before storing"
        if plane.boundary == 0
        else _FIRST.format(reference=contract.reference)
    )
    return observed, hint


def _tell_mixture(plane: Plane, record: PlaneRecord) -> tuple[str, str]:
    """Say that a plane is neither the embedding nor a later boundary by its repeated tokens."""
    share, pairs = _share(record), record.repeat_pairs
    observed = (
        f"plane {plane.name}: bit-identical rows for {share:.1%} of {pairs:,} repeated tokens, neither most nor few"
    )
    hint = "mixed files, or samples of one repeated token: look at files one by one (`eagle3-contracts inspect FILE`)"
    return observed, hint


def _share(record: PlaneRecord) -> float:
    return record.repeat_equal / record.repeat_pairs


def _say_shares(evidence: DatasetEvidence, planes: tuple[Plane, ...] = ()) -> str:
    told = [f"{_share(record):.1%}" if record.repeat_pairs else "no token repeats" for record in evidence.planes]
    return ", ".join(f"{name_plane(planes, index, len(told))} {share}" for index, share in enumerate(told))


def check_embedding_rows(clause: Clause, contract: Contract, evidence: DatasetEvidence) -> list[Finding]:
    """Fail if the plane at boundary 0 is not the target's embedding of its tokens, or another plane is."""
    obstacle = find_obstacle(evidence)
    distances = evidence.comparison.embedding_distance if evidence.comparison else None
    if obstacle is not None or evidence.comparison is None or distances is None:
        return [(obstacle or NO_TARGET).finding(clause, evidence.subject)]
    planes, rung = contract.stored_planes(evidence.format), Rung.EMBEDDING
    governing = governing_tolerance(contract, stored_dtypes(contract, evidence))
    if isinstance(governing, Obstacle):
        return [Obstacle(governing.reason, governing.hint, rung=rung).finding(clause, evidence.subject)]
    if len(distances) != len(planes):
        reason = f"{len(distances)} planes came, {len(planes)} are declared"
        return [Obstacle(reason, f"see {clause.stage}.plane-count", rung=rung).finding(clause, evidence.subject)]
    findings = [
        _judge_rows(clause, contract, evidence.subject, plane, float(distance), governing.relative_l2, rung)
        for plane, distance in zip(planes, distances, strict=True)
    ]
    told = ", ".join(f"{plane.name} {distance:.3g}" for plane, distance in zip(planes, distances, strict=True))
    passed = clause.find(
        Verdict.PASSED,
        evidence.subject,
        observed=f"median relative L2 from the embedding of the tokens: {told}",
        rung=rung,
        measure=float(min(distances)),
        bound=governing.relative_l2,
    )
    return [item for item in findings if item.verdict is not Verdict.PASSED] or [passed]


def _judge_rows(
    clause: Clause, contract: Contract, subject: str, plane: Plane, distance: float, bound: float, rung: Rung
) -> Finding:
    is_embedding = plane.boundary == 0
    near, far = distance <= bound, distance > bound * SEPARATION
    if is_embedding:
        verdict = Verdict.PASSED if near else Verdict.FAILED
    else:
        verdict = Verdict.FAILED if near else Verdict.PASSED if far else Verdict.ERRORED
    scale = contract.target.embed_scale
    own = f" (scaled by {scale:g}: target.embed_scale)" if scale != 1 else ""
    hint = (
        f"store the embedding output of {contract.target.model} for these token ids{own}; other token ids, another "
        "tokenizer or another boundary give other rows"
        if is_embedding
        else _FIRST.format(reference=contract.reference)
    )
    if verdict is Verdict.ERRORED:
        hint = "too near for another boundary and too far for the embedding: give the full target"
    if not math.isfinite(distance):
        verdict, hint = Verdict.ERRORED, f"see {clause.stage}.finite"
    return clause.find(
        verdict,
        subject,
        observed=f"plane {plane.name} (declared boundary {plane.boundary}) is {distance:.3g} from the target's "
        "embedding of its tokens, in the median",
        expected=f"within {bound:.3g} at boundary 0, and beyond {bound * SEPARATION:.3g} elsewhere",
        where=Where(plane=plane.name),
        rung=rung,
        measure=distance,
        bound=bound if is_embedding else bound * SEPARATION,
        hint=hint,
    )
