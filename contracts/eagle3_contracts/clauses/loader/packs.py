"""How samples become batches: documents apart, padding untrained, long samples cut, none lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from eagle3_contracts.clauses.loader.alignment import UNMASKED, UNPLACED, due_rows, usual_shifts
from eagle3_contracts.clauses.loader.anchors import (
    find_anchors,
    name_row,
    target_shifts,
    token_shifts,
)
from eagle3_contracts.clauses.loader.runs import find_obstacle, keep_open_untrained, sound_rows
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import BAD, Codes, LoadedRows, LoaderEvidence, LoaderRun
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import Clause

_SHOWN = 3


def check_packing(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a document holds rows of several samples, or of one out of order, or a sample lies in several."""
    del contract
    obstacle = find_obstacle(evidence) or _find_unplaced(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    signs = list(_find_mixtures(evidence))
    rows = sound_rows(evidence)
    documents = len(np.unique(rows.documents[rows.documents >= 0]))
    if not signs:
        how = "by the loader's document ids" if rows.documents_given else "one for each sequence of a batch"
        observed = f"{say_count(documents, 'document')} of one sample each, in order ({how})"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed="; ".join(signs[:_SHOWN]) + (f"; and {len(signs) - _SHOWN} more" if signs[_SHOWN:] else ""),
            measure=float(len(signs)),
            bound=0.0,
            hint="give every sample of a pack a document id of its own, as many times as it has rows after the shift, "
            "and mask attention by it",
        )
    ]


def _find_unplaced(evidence: LoaderEvidence) -> Obstacle | None:
    """Say that no row of the sound dataset can be told from another, or give None."""
    rows = sound_rows(evidence)
    return None if find_anchors(rows, evidence.runs["sound"].samples).placed.any() else UNPLACED


def _find_mixtures(evidence: LoaderEvidence) -> Iterator[str]:
    rows = sound_rows(evidence)
    anchors = find_anchors(rows, evidence.runs["sound"].samples)
    homes: dict[int, set[int]] = {}
    for document in np.unique(rows.documents[rows.documents >= 0]):
        inside = np.flatnonzero((rows.documents == document) & anchors.placed)
        found = list(dict.fromkeys(int(sample) for sample in anchors.sample[inside]))
        for sample in found:
            homes.setdefault(sample, set()).add(int(document))
        if len(found) > 1:
            several = ", ".join(map(str, found))
            yield f"one document holds rows of samples {several} (from {name_row(rows, inside[0])} on)"
        elif len(found) == 1 and (np.diff(anchors.position[inside]) != 1).any():
            yield f"rows of sample {found[0]} are out of order (from {name_row(rows, inside[0])} on)"
    for sample, documents in homes.items():
        if len(documents) > 1 and not _is_repeated(evidence, sample):
            yield f"sample {sample} lies in {len(documents)} documents"


def _is_repeated(evidence: LoaderEvidence, sample: int) -> bool:
    """Tell whether a sample came several times as a whole: ``loader.coverage`` speaks of that."""
    rows = sound_rows(evidence)
    anchors = find_anchors(rows, evidence.runs["sound"].samples)
    positions = anchors.position[anchors.sample == sample]
    return len(np.unique(positions)) < len(positions)


def check_padding(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a row is trained that holds no stored row, belongs to no document, or has nothing beside it."""
    obstacle = find_obstacle(evidence) or _find_unplaced(evidence)
    if obstacle is None and not sound_rows(evidence).masked:
        obstacle = UNMASKED
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows, run = sound_rows(evidence), evidence.runs["sound"]
    anchors = find_anchors(rows, run.samples)
    empty = (rows.sample[:, : rows.fed] < 0).all(axis=1) | (rows.documents < 0)
    ended = anchors.placed & ~due_rows(contract, rows, anchors, run)
    wrong = np.flatnonzero(rows.trained & (empty | ended))
    counted = f"{int(empty.sum())} of padding and {int(ended.sum())} at the end of a sample"
    finding = clause.find(
        Verdict.FAILED if len(wrong) else Verdict.PASSED,
        evidence.subject,
        observed=f"{len(wrong)} of {len(rows)} rows are trained though they are padding, or have no token or state "
        f"beside them; first: {name_row(rows, wrong[0])}"
        if len(wrong)
        else f"no row without token and state is trained ({counted})",
        measure=float(len(wrong)),
        bound=0.0,
        hint="pad the mask with zeros, and set its last entry to zero where a shift fills up with zeros"
        if len(wrong)
        else "",
    )
    return keep_open_untrained(clause, evidence, [finding])


def check_coverage(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail for rows of the sound dataset that never reach step zero, or reach it twice."""
    obstacle = find_obstacle(evidence) or _find_unplaced(evidence)
    if obstacle is None and evidence.runs["sound"].stopped:
        obstacle = Obstacle("the loader does not end by itself: an epoch cannot be told", "give one epoch of batches")
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    rows, run = sound_rows(evidence), evidence.runs["sound"]
    anchors = find_anchors(rows, run.samples)
    due = due_rows(contract, rows, anchors, run)
    seen = Counter(zip(anchors.sample[due].tolist(), anchors.position[due].tolist(), strict=True))
    reach = max(usual_shifts(contract, rows, anchors, run))
    wanted = {(number, at) for number, sample in enumerate(run.samples) for at in range(sample.length - reach)}
    lost, twice = sorted(wanted - seen.keys()), sorted(key for key, count in seen.items() if count > 1)
    told = [f"{len(keys)} of {len(wanted)} rows {what}: {_say_samples(keys)}"
            for keys, what in ((lost, "never come"), (twice, "come twice")) if keys]  # fmt: skip
    return [
        clause.find(
            Verdict.FAILED if told else Verdict.PASSED,
            evidence.subject,
            observed="; ".join(told) or f"each of {len(wanted)} rows of {len(run.samples)} samples comes once",
            measure=float(len(lost) + len(twice)),
            bound=0.0,
            hint="samples are lost where an incomplete last batch is dropped (drop_last), a pack is cut, or rows are "
            "dropped at both ends" if told else "",
        )
    ]  # fmt: skip


def _say_samples(keys: list[tuple[int, int]]) -> str:
    return ", ".join(f"{count} of sample {sample}" for sample, count in Counter(sample for sample, _ in keys).items())


def check_truncation(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a sample longer than the loader takes is trained out of step; a silent loss violates a should."""
    obstacle = find_obstacle(evidence) or _find_unplaced(evidence)
    if obstacle is None and "overlong" in evidence.skipped:
        obstacle = Obstacle(evidence.skipped["overlong"], skips=True)
    run = evidence.runs.get("overlong")
    if obstacle is not None or run is None:
        return [(obstacle or Obstacle("no sample that is too long was given")).finding(clause, evidence.subject)]
    if run.refusal or run.misfit or run.rows is None:
        told = run.refusal or (run.misfit.reason if run.misfit else "no batch")
        observed = f"a sample of {run.samples[BAD].length} tokens is refused: {told}"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    return keep_open_untrained(clause, evidence, [_judge_cut(clause, contract, evidence, run, run.rows)])


def _judge_cut(
    clause: Clause, contract: Contract, evidence: LoaderEvidence, run: LoaderRun, rows: LoadedRows
) -> Finding:
    """Hold the rows of the long sample that are trained against those of the sound dataset's shifts."""
    length = run.samples[BAD].length
    anchors = find_anchors(rows, run.samples)
    token = token_shifts(rows, anchors, run.samples, contract.alignment.token[0])
    shown = _shown_shifts(contract, evidence)
    own = anchors.belongs_to(BAD)
    wrong = (token != shown[0]) | ~anchors.placed
    if rows.last_dtype is not None:
        wrong |= target_shifts(rows, anchors) != shown[1]
    bad = np.flatnonzero(own & rows.trained & wrong)
    kept = anchors.position[own & anchors.placed]
    silent = not len(kept) and not run.reports
    told = f"rows {kept.min()} to {kept.max()} are kept" if len(kept) else "it is left out"
    said = f" ({run.reports[0]})" if run.reports and not len(kept) else ""
    observed = f"of a sample of {length} tokens, at most {evidence.max_length} taken, {told}{said}"
    if len(bad):
        observed += f"; {len(bad)} of them are trained with another token or state; first: {name_row(rows, bad[0])}"
    elif silent:
        observed += " without a word"
    return clause.find(
        Verdict.FAILED if len(bad) or silent else Verdict.PASSED,
        evidence.subject,
        observed=observed,
        measure=float(len(bad) or silent),
        bound=0.0,
        hint="cut token ids, mask and every plane at the same token, before the shift, and train no row that the cut "
        "leaves without a successor" if len(bad) or silent else "",
        level=Level.SHOULD if silent and not len(bad) else None,
    )  # fmt: skip


def _shown_shifts(contract: Contract, evidence: LoaderEvidence) -> tuple[int, int]:
    """Give the shifts of token and final state that most rows of the sound dataset show, accepted or not."""
    rows, run = sound_rows(evidence), evidence.runs["sound"]
    anchors = find_anchors(rows, run.samples)
    due = due_rows(contract, rows, anchors, run)
    token = token_shifts(rows, anchors, run.samples, contract.alignment.token[0])
    return _most_shown(token[due]), _most_shown(target_shifts(rows, anchors)[due])


def _most_shown(shifts: Codes) -> int:
    """Give the shift of most rows, 0 where there are none."""
    counts = Counter(shifts.tolist())
    return max(counts, key=lambda shift: counts[shift], default=0)
