"""The diagnosis: search on one half of the samples, confirm on the other, and say no more than that shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.diagnosis.broken import find_broken_tensor, find_finite
from eagle3_contracts.diagnosis.case import Case
from eagle3_contracts.diagnosis.fixes import suggest_fixes
from eagle3_contracts.diagnosis.neighbours import find_neighbours, prefer_named, say_planes
from eagle3_contracts.diagnosis.samples import (
    SHORTEST,
    DraftSample,
    find_predictions,
    predicted_tokens,
    shared_taps,
    split_samples,
)
from eagle3_contracts.diagnosis.scoring import Half, Score, Scorer
from eagle3_contracts.diagnosis.search import Search, judges_recurrence
from eagle3_contracts.diagnosis.space import open_space
from eagle3_contracts.diagnosis.sureness import (
    ALPHA,
    LEAST_POSITIONS,
    compare_sums,
    least_samples,
    tail,
    zero_like,
)
from eagle3_contracts.diagnosis.verdict import Diagnosis, Difference, DraftVerdict, Measured
from eagle3_contracts.diagnosis.wiring import (
    WORDS,
    Hypothesis,
    Prediction,
    declared_wiring,
    describe_taps,
    describe_value,
)

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.subjects.targets import Target

USUAL_ACCURACY = 0.5
"""The accuracy that is expected where nobody states one. Chosen, not measured: the story's drafter had .77 as trained
and .34 mis-wired; a drafter below a half is rarely worth its time."""
COARSE_ROWS = 300
"""Rows on which many hypotheses are told apart before the best are scored on all."""


def diagnose(
    contract: Contract,
    weights: Mapping[str, Tensor],
    samples: Sequence[DraftSample],
    target: Target | None = None,
    *,
    expected_accuracy: float | None = None,
) -> Diagnosis:
    """Tell whether a drafter is wired wrong, was trained on wrong targets or too little, or is sound.

    ``weights``: the drafter's tensors by canonical name, borrowed ones filled in. ``samples``: with the planes at
    hand, the more boundaries the better. ``target``: its norm and head tell what should be predicted; without
    them the text does. ``expected_accuracy``: what the trainer reported at step 0, against which "under-trained"
    is judged. Raises ``WeightsError`` for tensors that do not make the contract's drafter.
    """
    long = [sample for sample in samples if len(sample.token_ids) >= SHORTEST]
    usable = find_finite(long)
    if broken := find_broken_tensor(contract, weights):
        return _undecided(contract, broken, usable)
    if long and not usable:
        return _undecided(contract, "every sample holds states that are NaN or infinite: dataset.finite", usable)
    halves = split_samples(usable)
    if reason := _too_few(halves):
        return _undecided(contract, reason, usable)
    missing = [tap for tap in declared_wiring(contract).taps if tap not in shared_taps(usable)]
    if missing:
        lacking = ", ".join(map(str, missing))
        return _undecided(contract, f"the samples lack {lacking}, which the contract feeds to the drafter", usable)
    case = _open_case(contract, weights, halves, target, expected_accuracy)
    case.found = prefer_named(case, Search(case.coarse, case.seeking, case.space).run(case.declared))
    differences = list(_confirm(case))
    found = _conclude(case, differences, usable)
    left_out = len(long) - len(usable)
    told = f"{left_out} of {len(long)} samples, with NaN or infinite states left out: dataset.finite"
    return replace(found, notes=(*found.notes, told)) if left_out else found


def _too_few(halves: tuple[list[DraftSample], list[DraftSample]]) -> str:
    """Say why these samples cannot decide anything, or nothing."""
    seeking, holding = halves
    rows = sum(len(sample.token_ids) - 2 for sample in holding)
    if len(holding) < least_samples() or len(seeking) < 1:
        return (
            f"{len(holding)} samples to confirm on are fewer than {least_samples()}: every sample has one vote, and "
            f"all of them together would not reach a chance below {ALPHA:g}"
        )
    if rows < LEAST_POSITIONS:
        return f"{rows} rows to confirm on are fewer than {LEAST_POSITIONS}"
    return ""


def _open_case(
    contract: Contract,
    weights: Mapping[str, Tensor],
    halves: tuple[list[DraftSample], list[DraftSample]],
    target: Target | None,
    expected: float | None,
) -> Case:
    everything = [*halves[0], *halves[1]]
    right, others = find_predictions(everything, target, contract.target.num_hidden_layers)
    asked = tuple(dict.fromkeys((right, Prediction(None), *others)))
    told = [list(predicted_tokens(half, asked, target)) for half in halves]
    few = slice(max(1, -(-COARSE_ROWS * len(halves[0]) // sum(len(sample.token_ids) for sample in halves[0]))))
    coarse, seeking, holding = (
        Scorer(contract, weights, Half(chosen, said))
        for chosen, said in ((halves[0][few], told[0][few]), (halves[0], told[0]), (halves[1], told[1]))
    )
    for prediction in asked:
        coarse.frequencies[prediction] = holding.frequencies[prediction] = seeking.frequency(prediction)
    declared = Hypothesis(declared_wiring(contract), right)
    space = open_space(contract, weights, declared.wiring, shared_taps(everything), (right, *others))
    return Case(contract, declared, space, coarse, seeking, holding, expected, declared)


def _confirm(case: Case) -> Iterator[Difference]:
    """Take back every difference that the held-out half does not confirm; yield those that stay.

    Changes ``case.found``. What the next step gets is compared by the later steps.
    """
    for name in (name for name in WORDS if case.found.get(name) != case.declared.get(name)):
        back = case.found.change(name, case.declared.get(name))
        comparison = case.compare(case.holding, name, case.found, back)
        if comparison.beyond_doubt and comparison.drafts_more:
            declared, found = (
                describe_value(case.contract, name, hypothesis.get(name)) for hypothesis in (case.declared, case.found)
            )
            yield Difference(WORDS[name], declared, found, str(comparison))
        else:
            case.found = back


def _conclude(case: Case, differences: list[Difference], samples: Sequence[DraftSample]) -> Diagnosis:
    score = case.holding.score(case.found)
    knows = compare_sums(score.by_sample(score.gain), zero_like(score), len(score.gain))
    if not knows.beyond_doubt:
        verdict = DraftVerdict.CANNOT_TELL
        reasons = [f"under no wiring that was tried does the drafter know more than how frequent tokens are: {knows}"]
        differences = []
    elif differences:
        verdict, reasons = _name_difference(case, differences)
    else:
        verdict, reasons = _judge_training(case, score)
    neighbours = tuple(find_neighbours(case)) if verdict is not DraftVerdict.CANNOT_TELL or knows.beyond_doubt else ()
    reasons += say_planes(case, neighbours)
    return Diagnosis(
        verdict,
        case.contract.reference,
        tuple(reasons),
        describe_taps(case.contract, case.declared.wiring.taps),
        describe_taps(case.contract, case.found.wiring.taps),
        str(case.declared.prediction),
        measure(case.holding, case.declared),
        measure(case.holding, case.found) if differences else None,
        tuple(differences),
        neighbours,
        tuple(suggest_fixes(case.contract, case.declared, case.found)) if differences else (),
        tuple(_notes(case)),
        len(samples),
        len(score.gain),
        sum(scorer.evaluations for scorer in (case.coarse, case.seeking, case.holding)),
    )


def _name_difference(case: Case, differences: Sequence[Difference]) -> tuple[DraftVerdict, list[str]]:
    wired = [item for item in differences if item.name != WORDS["prediction"]]
    told = [f"{item.name}: {item.found}, where the contract says {item.declared}: {item.sure}" for item in differences]
    if not wired:
        return DraftVerdict.WRONG_TARGETS, [f"the drafter predicts another tensor's choice; {told[0]}"]
    before, after = (measure(case.holding, item) for item in (case.declared, case.found))
    share = (before.against_text, after.against_text)
    if before.against_target is not None and after.against_target is not None:
        share = (before.against_target, after.against_target)
    return DraftVerdict.WIRED_WRONG, [
        f"accuracy at step 0 is {share[0]:.1%} as the contract wires it, and {share[1]:.1%} as it was trained",
        *told,
    ]


def _judge_training(case: Case, score: Score) -> tuple[DraftVerdict, list[str]]:
    """Judge a drafter that no other wiring serves better: by the accuracy that was stated, or the usual one."""
    expected = USUAL_ACCURACY if case.expected is None else case.expected
    origin = "a figure that was chosen, since none was stated" if case.expected is None else "as stated"
    accuracy = float(score.correct.mean())
    counts = np.bincount(score.owner)
    missed = score.by_sample(score.correct.astype(np.float64)) - expected * counts
    low, voting = int((missed < 0).sum()), int((missed != 0).sum())
    told = f"accuracy at step 0 is {accuracy:.1%} against {case.declared.prediction}"
    line = f"{expected:.1%} is expected ({origin})"
    if accuracy >= expected:
        return DraftVerdict.SOUND, [
            f"no other wiring is better beyond doubt, and {told}; {line}: look at the server (server.*, launch.*)"
        ]
    votes = f"{low} of {voting} samples are below"
    if tail(low, voting) < ALPHA:
        return DraftVerdict.UNDER_TRAINED, [f"correctly wired, but {told}; {line}, and {votes}: train it longer"]
    return DraftVerdict.CANNOT_TELL, [f"correctly wired, and {told}; {line}, but only {votes}: give more samples"]


def measure(scorer: Scorer, hypothesis: Hypothesis) -> Measured:
    """Measure step 0 under one hypothesis's wiring, against the target's own choice and against the text."""
    score = scorer.score(hypothesis)
    text = scorer.score(replace(hypothesis, prediction=Prediction(None)))
    known = hypothesis.prediction.source is not None
    return Measured(
        float(score.correct.mean()) if known else None, float(text.correct.mean()), float(score.likelihood.mean())
    )


def _notes(case: Case) -> Iterator[str]:
    if len(case.space.taps) <= case.contract.target.num_hidden_layers:
        held = ", ".join(map(str, case.space.taps))
        yield f"only these planes were at hand, and no other could be tried: {held}"
    if not judges_recurrence(case.seeking, case.found):
        yield "later steps know less than half of what step 0 knows, so that what they should be fed cannot be told"
    if case.declared.prediction.source is None:
        yield "the target's norm, head or final state was not at hand: the text stands in for what it would choose"


def _undecided(contract: Contract, reason: str, samples: Sequence[DraftSample]) -> Diagnosis:
    taps = describe_taps(contract, declared_wiring(contract).taps)
    return Diagnosis(
        DraftVerdict.CANNOT_TELL, contract.reference, (reason,), taps, taps, "nothing", samples=len(samples)
    )
