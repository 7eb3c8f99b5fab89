"""What stands beside state t: token, final state, mask and position, within the shifts that the contract accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from eagle3_contracts.clauses.loader.anchors import (
    REACH,
    Anchors,
    find_anchors,
    lengths_of,
    name_row,
    target_shifts,
    token_shifts,
)
from eagle3_contracts.clauses.loader.runs import find_obstacle, sound_rows
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Codes, Flags, LoadedRows, LoaderEvidence, LoaderRun, Sentinel
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.registry import Clause

UNPLACED = Obstacle("no row could be placed by its planes", "see loader.fc-input and loader.row-identity")
UNMASKED = Obstacle("the loader gives no mask", "give what the loss counts: StepZero(mask=...)")


def check_token_shift(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if the token beside state t is not x[t + o], o one of ``alignment.token``, in every row that has one."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows, samples, accepted = sound_rows(evidence), evidence.runs["sound"].samples, contract.alignment.token
    anchors = find_anchors(rows, samples)
    shifts = token_shifts(rows, anchors, samples, accepted[0])
    due = _have_successors(anchors, samples, _most_common(shifts, accepted))
    hint = "shift the token once, in the loader or in the model and never in both: input_ids[1:] beside hidden[:-1]"
    return [_judge_shifts(clause, evidence, rows, (shifts, due), accepted, ("token", "x"), hint)]


def check_target_shift(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if the last hidden state beside state t is not y[t + o], o one of ``alignment.target``."""
    obstacle = find_obstacle(evidence)
    if obstacle is None and sound_rows(evidence).last_dtype is None:
        obstacle = Obstacle(
            "the loader gives no last hidden state to place", skips=contract.last_hidden_plane() is None
        )
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows = sound_rows(evidence)
    samples, accepted = evidence.runs["sound"].samples, contract.alignment.target
    anchors = find_anchors(rows, samples)
    shifts = target_shifts(rows, anchors)
    hint = "the final state is shifted as the token is, once: the row's target is what follows its token"
    shifted = (shifts, _have_successors(anchors, samples, _most_common(shifts, accepted)))
    return [_judge_shifts(clause, evidence, rows, shifted, accepted, ("final state", "y"), hint)]


def check_position_shift(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if the position of row t is not t + o, o one of ``alignment.position``; skipped if the loader gives none."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows = sound_rows(evidence)
    if rows.positions is None:
        unsaid = Obstacle("the loader gives no position ids: the drafter counts rows itself", skips=True)
        return [unsaid.finding(clause, evidence.subject)]
    anchors = find_anchors(rows, evidence.runs["sound"].samples)
    hint = "count positions anew in every document of a pack, from its first row on"
    shifted = (rows.positions - anchors.position, anchors.placed)
    return [_judge_shifts(clause, evidence, rows, shifted, contract.alignment.position, ("position", ""), hint)]


def _judge_shifts(
    clause: Clause,
    evidence: LoaderEvidence,
    rows: LoadedRows,
    shifted: tuple[Codes, Flags],
    accepted: Sequence[int],
    names: tuple[str, str],
    hint: str,
) -> Finding:
    """Pass if one accepted shift holds in all rows that are due; tell the shifts that were found otherwise."""
    shifts, due = shifted
    what, symbol = names
    total = int(due.sum())
    if not total:
        return UNPLACED.finding(clause, evidence.subject)
    counts = Counter(int(shift) for shift in shifts[due])
    best = max(accepted, key=lambda shift: counts[shift])
    wrong = total - counts[best]
    told = ", ".join(
        f"{_say_shift(symbol, shift)} in {count} of {total} rows" for shift, count in counts.most_common(3)
    )
    first = np.flatnonzero(due & (shifts != best))
    place = f"; first: {name_row(rows, int(first[0]))}" if len(first) else ""
    return clause.find(
        Verdict.FAILED if wrong else Verdict.PASSED,
        evidence.subject,
        observed=f"{what} beside state t: {told}{place}",
        expected=" or ".join(_say_shift(symbol, shift) for shift in accepted) + ", the same in every row",
        measure=float(wrong),
        bound=0.0,
        hint=hint if wrong else "",
    )


def _say_shift(symbol: str, shift: int) -> str:
    if abs(shift) > REACH and symbol:
        return "one of another place or sample"
    offset = "t" if shift == 0 else f"t{shift:+d}"
    return f"{symbol}[{offset}]" if symbol else offset


def check_mask_shift(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if the mask of row t is not l[t + o], o one of ``alignment.loss_mask``, in every row that can be trained.

    Rows at a sample's end, which have no token or final state beside them, are ``loader.padding``'s; rows whose target
    the draft vocabulary does not hold are ``loader.draft-vocabulary``'s.
    """
    obstacle = find_obstacle(evidence)
    if obstacle is None and not sound_rows(evidence).masked:
        obstacle = UNMASKED
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows = sound_rows(evidence)
    run, accepted = evidence.runs["sound"], contract.alignment.loss_mask
    anchors = find_anchors(rows, run.samples)
    due = due_rows(contract, rows, anchors, run) & in_vocabulary(rows)
    wanted = {shift: _shifted_mask(run, anchors, shift) for shift in range(-REACH, REACH + 1)}
    misses = {shift: int((rows.trained != mask)[due].sum()) for shift, mask in wanted.items()}
    if not due.any():
        return [UNPLACED.finding(clause, evidence.subject)]
    wrong = min(misses[shift] for shift in accepted)
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=_say_mask(rows, due, misses),
            expected=" or ".join(_say_shift("l", shift) for shift in accepted),
            measure=float(wrong),
            bound=0.0,
            hint=_explain_mask(rows, due) if wrong else "",
        )
    ]


def due_rows(contract: Contract, rows: LoadedRows, anchors: Anchors, run: LoaderRun) -> Flags:
    """Mark the rows that have a token and a final state beside them in their own sample."""
    return _have_successors(anchors, run.samples, max(usual_shifts(contract, rows, anchors, run)))


def usual_shifts(contract: Contract, rows: LoadedRows, anchors: Anchors, run: LoaderRun) -> tuple[int, int]:
    """Give the accepted shifts of token and final state that most rows show; 0 for a final state that is not given."""
    token, target = contract.alignment.token, contract.alignment.target
    states = 0 if rows.last_dtype is None else _most_common(target_shifts(rows, anchors), target)
    return _most_common(token_shifts(rows, anchors, run.samples, token[0]), token), states


def _most_common(shifts: Codes, accepted: Sequence[int]) -> int:
    return max(accepted, key=lambda shift: int((shifts == shift).sum()))


def _have_successors(anchors: Anchors, samples: Sequence[Sentinel], shift: int) -> Flags:
    """Mark the rows t whose sample goes on to t + shift."""
    due: Flags = anchors.placed & (anchors.position + shift < lengths_of(anchors, samples))
    return due


def in_vocabulary(rows: LoadedRows) -> Flags:
    """Mark the rows whose target is in the draft vocabulary; all of them where the loader does not say."""
    if rows.targets is None or rows.vocabulary is None:
        return np.ones(len(rows), bool)
    known = (rows.targets >= 0) & (rows.targets < len(rows.vocabulary))
    held = np.zeros(len(rows), bool)
    held[known] = rows.vocabulary[rows.targets[known]]
    return held


def _shifted_mask(run: LoaderRun, anchors: Anchors, shift: int) -> Flags:
    """Give l[t + shift] for every row, zero beyond the sample's ends."""
    found = np.zeros(len(anchors.sample), bool)
    for row in np.flatnonzero(anchors.placed):
        mask, at = run.samples[anchors.sample[row]].mask, int(anchors.position[row]) + shift
        found[row] = 0 <= at < len(mask) and bool(mask[at])
    return found


def _say_mask(rows: LoadedRows, due: Flags, misses: Mapping[int, int]) -> str:
    """Say the shifts that fit, else the nearest one and how many rows differ from it."""
    total = int(due.sum())
    if not (rows.trained & due).any():
        return f"none of {total} rows is trained"
    fits = [_say_shift("l", shift) for shift in sorted(misses, key=abs) if not misses[shift]]
    if fits:
        return f"mask of row t is {' or '.join(fits)} in {total} rows"
    near = min(misses, key=lambda shift: misses[shift])
    return f"mask fits no shift: nearest is {_say_shift('l', near)}, from which {misses[near]} of {total} rows differ"


def _explain_mask(rows: LoadedRows, due: Flags) -> str:
    if not (rows.trained & due).any():
        return "the mask arrives as zeros alone: look at the template's marks of what is generated, and at its dtype"
    return (
        "move the mask as the tokens are moved: row t learns what follows x[t+1]. A loader that leaves rows out by the "
        "draft vocabulary gives StepZero(targets=..., vocabulary=...)"
    )
