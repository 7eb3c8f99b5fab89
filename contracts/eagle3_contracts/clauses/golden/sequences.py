"""The recorded sequences: their token ids, and what lies on disk of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eagle3_contracts.clauses.bounds import LEAST_TOKENS
from eagle3_contracts.clauses.golden.judging import (
    DRAFTS,
    RECORD,
    STATES,
    Defect,
    find_file_obstacle,
    find_manifest_obstacle,
    find_values_obstacle,
    state,
)
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.recorded import draft_shapes, state_shapes
from eagle3_contracts.evidence import GoldenEvidence, RecordedSequence
from eagle3_contracts.evidence.golden import WHOLE, find_misfit, shapes_of
from eagle3_contracts.findings import Finding, Where
from eagle3_contracts.registry import Clause

_MANIFEST = Where(file="manifest.json")
_KEPT = ("top_logits", "log_sum_exp")
"""What is kept of large vocabularies is float32 whatever the states are: it takes little, and is all that is left."""


def check_sequences(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for ids outside the vocabulary, lengths or digests that do not fit, sequences that stand twice, too few."""
    obstacle = find_manifest_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    size = contract.target.vocab_size
    defects = [defect for item in evidence.sequences for defect in _judge_ids(item, size)]
    first: dict[tuple[int, ...], int] = {}
    for item in evidence.sequences:
        if first.setdefault(item.token_ids, item.number) != item.number:
            told = f"sequence {item.number} is sequence {first[item.token_ids]} again"
            defects.append(Defect(told, _MANIFEST, f"it adds no evidence: leave it out, and {RECORD}"))
    tokens = sum(len(item.token_ids) for item in evidence.sequences)
    if tokens < LEAST_TOKENS:
        told = f"{say_count(tokens, 'token')} in all, and fewer than {LEAST_TOKENS} decide nothing"
        defects.append(Defect(told, _MANIFEST, "record more or longer sequences", float(tokens), float(LEAST_TOKENS)))
    stated = sum(bool(item.digest) for item in evidence.sequences)
    said = f", {stated} with a digest of their ids" if stated else ", no digest of their ids is stated"
    sound = f"{say_count(len(evidence.sequences), 'sequence')} of {tokens:,} tokens{said}"
    expected = f"distinct sequences of ids in 0..{size - 1}, {LEAST_TOKENS} tokens at least"
    return state(
        clause, evidence, defects, sound=sound, expected=expected, measure=float(tokens), bound=float(LEAST_TOKENS)
    )


def _judge_ids(item: RecordedSequence, size: int) -> Iterator[Defect]:
    outside = [token for token in item.token_ids if not 0 <= token < size]
    if outside:
        told = f"sequence {item.number} has {say_count(len(outside), 'token id')} outside 0..{size - 1}: {outside[0]}"
        yield Defect(told, _MANIFEST, f"tokenise with the target's own tokenizer, and {RECORD}", float(len(outside)))
    if item.length != len(item.token_ids):
        told = f"sequence {item.number} is said to have {item.length} tokens and has {len(item.token_ids)}"
        yield Defect(told, _MANIFEST, f"the manifest was edited: {RECORD}", len(item.token_ids), item.length)
    if item.digest and item.digest != item.actual_digest:
        told = (
            f"sequence {item.number}: its token ids have the digest {item.actual_digest[:12]}, not {item.digest[:12]}"
        )
        yield Defect(told, _MANIFEST, f"its token ids were edited: {RECORD}")


def check_shapes(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for each sequence of which a tensor is missing, left over or of another shape."""
    obstacle = find_manifest_obstacle(evidence) or find_file_obstacle(evidence, STATES, DRAFTS)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    defects = []
    drafted = evidence.drafter is not None or any(item.drafts for item in evidence.sequences)
    for item in evidence.sequences:
        rows = len(item.token_ids)
        told = find_misfit(item.states, state_shapes(contract, rows, shapes_of(item.states))) or item.kept_fault
        if told:
            hint = f"rows are those of the tokens, boundaries and vocabulary those of the contract's target: {RECORD}"
            defects.append(Defect(f"sequence {item.number}: {told}", STATES, hint))
        shapes = draft_shapes(contract, rows, shapes_of(item.drafts)) if drafted else {}
        told = find_misfit(item.drafts, shapes)
        if told:
            hint = f"a sequence of T tokens has T - 1 rows of drafts: {RECORD}"
            defects.append(Defect(f"sequence {item.number}: of its drafts, {told}", DRAFTS, hint))
    forms = " and ".join(sorted({item.form for item in evidence.sequences}))
    planes, width = contract.target.num_hidden_layers + 1, contract.target.hidden_size
    sound = f"{say_count(len(evidence.sequences), 'sequence')} with {planes} boundaries, {forms} logits"
    expected = f"states [{planes}, T, {width}], logits and drafts of every sequence"
    return state(clause, evidence, defects, sound=sound, expected=expected)


def check_dtype(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for tensors in another dtype than the manifest states, and for a dtype without a tolerance."""
    obstacle = find_manifest_obstacle(evidence) or find_file_obstacle(evidence, STATES)
    if obstacle is None and not any(item.states for item in evidence.sequences):
        obstacle = Obstacle("no states were read", "see golden.integrity and golden.shapes", STATES)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    defects = []
    for item in evidence.sequences:
        odd = [name for name, header in item.states.items() if header.dtype != _dtype_of(name, item)]
        odd = [name for name in odd if name not in WHOLE]
        if odd:
            told = f"sequence {item.number}: {odd[0]} is {item.states[odd[0]].dtype}, the manifest says {item.dtype}"
            defects.append(Defect(told, STATES, f"bounds follow the stated dtype: {RECORD}", float(len(odd))))
    stated = sorted({item.dtype for item in evidence.sequences})
    for dtype in stated:
        if contract.tolerance_for(dtype) is None:
            told = f"{contract.reference} declares no tolerance for {dtype[:40]}"
            hint = f"measure a correct artifact in {dtype[:40]} and add [tolerance.{dtype[:40]}] to a new version"
            defects.append(Defect(told, _MANIFEST, hint))
    sound = f"states in {' and '.join(stated)}, as stated"
    return state(
        clause, evidence, defects, sound=sound, expected="the stated dtype, one the contract has a tolerance for"
    )


def _dtype_of(name: str, item: RecordedSequence) -> str:
    return "float32" if name in _KEPT else item.dtype


def check_finite(clause: Clause, contract: Contract, evidence: GoldenEvidence) -> list[Finding]:
    """Fail for each tensor with NaN or infinite values."""
    del contract
    obstacle = find_values_obstacle(evidence, STATES, DRAFTS)
    if obstacle is None and not any(item.states for item in evidence.sequences):
        obstacle = Obstacle("no states were read", "see golden.integrity and golden.shapes", STATES)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    defects = [
        Defect(
            f"sequence {item.number}: {say_count(count, 'value')} of {name} {'is' if count == 1 else 'are'} not finite",
            Where(
                file=(DRAFTS if name.startswith("drafts ") else STATES).file,
                tensor=f"{item.number}.{name.removeprefix('drafts ')}",
            ),
            f"look at what computed it (float16 overflows at 65,504), and {RECORD}",
            float(count),
        )
        for item in evidence.sequences
        for name, count in _counts(item).items()
    ]
    sound = f"all values of {say_count(len(evidence.sequences), 'sequence')} are finite"
    return state(clause, evidence, defects, sound=sound, expected="finite values")


def _counts(item: RecordedSequence) -> Mapping[str, int]:
    return item.nonfinite or {}
