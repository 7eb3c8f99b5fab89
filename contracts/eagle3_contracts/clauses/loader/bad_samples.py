"""Samples that must not be trained on: refused or left out with a word, never taken in silence, never replaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eagle3_contracts.clauses.loader.anchors import find_anchors, name_row, row_keys
from eagle3_contracts.clauses.loader.runs import find_obstacle, keep_open_untrained
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import BAD, NOT_FINITE, LoaderEvidence, LoaderRun, Scenario
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.registry import Clause

_NAMES: dict[str, str] = {
    "nonfinite": "a sample with NaN and infinite values",
    "row-missing": "a sample whose first row of states is missing",
    "row-surplus": "a sample with a row of states too many",
    "foreign": "a sample whose states belong to other token ids",
    "corrupt": "a file cut in half",
    "missing": "a file that is not there",
}


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of the bad sample. ``level``: None for an outcome that is right."""

    told: str
    level: Level | None = None
    count: int = 0


def check_nonfinite(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if NaN or infinite states reach a document, or the sample is trained in another form."""
    del contract
    hint = "check torch.isfinite on every sample that is read; one NaN reaches all rows that attend to it"
    return _judge(clause, evidence, ("nonfinite",), hint)


def check_row_count(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a sample with a row of states too few or too many is trained out of step."""
    del contract
    hint = "compare the number of rows with that of token ids for every sample that is read, and raise or leave it out"
    return _judge(clause, evidence, ("row-missing", "row-surplus"), hint)


def check_stored_tokens(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a sample is trained whose states belong to other token ids; skipped where a format keeps ids once."""
    del contract
    hint = "compare the token ids beside the states with those of the dataset, sample by sample"
    return _judge(clause, evidence, ("foreign",), hint)


def check_unreadable(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if another sample takes the place of one that cannot be read."""
    del contract
    hint = "raise, or leave the sample out and say so; another sample in its place is trained twice"
    return _judge(clause, evidence, ("corrupt", "missing"), hint)


def check_neighbours(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a sample with a row too few or too many changes what stands in the rows of other samples."""
    del contract
    runs = _applicable(evidence, ("row-missing", "row-surplus"))
    if isinstance(runs, Obstacle):
        return [runs.finding(clause, evidence.subject)]
    sound = evidence.runs["sound"]
    changed = {name: _changed_neighbours(sound, run) for name, run in runs.items()}
    if not any(changed.values()):
        observed = "the rows of other samples are as without it: " + "; ".join(_NAMES[name] for name in runs)
        passed = [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
        taken = any(run.rows is not None for run in runs.values())
        return keep_open_untrained(clause, evidence, passed) if taken else passed
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{_NAMES[name]}: {len(wrong)} trained rows of other samples get another token, state or sample"
            f"; first: {_name(runs[name], wrong[0])}",
            measure=float(len(wrong)),
            bound=0.0,
            hint="samples are joined by their own number of rows: count them in states, tokens and mask before packing",
        )
        for name, wrong in changed.items()
        if wrong
    ]


def _changed_neighbours(sound: LoaderRun, run: LoaderRun) -> list[int]:
    """Give the trained rows that are not the bad sample's, and are not among the rows of the sound dataset."""
    if run.rows is None:
        return []
    usual = set(row_keys(sound))
    foreign = ~find_anchors(run.rows, run.samples).belongs_to(BAD)
    keys = row_keys(run)
    return [row for row in np.flatnonzero(foreign & run.rows.trained).tolist() if keys[row] not in usual]


def _name(run: LoaderRun, row: int) -> str:
    return name_row(run.rows, row) if run.rows is not None else ""


def _applicable(evidence: LoaderEvidence, scenarios: Sequence[Scenario]) -> dict[str, LoaderRun] | Obstacle:
    """Give the runs of some scenarios, or why there is none."""
    obstacle = find_obstacle(evidence)
    if obstacle is not None:
        return obstacle
    runs = {str(name): evidence.runs[name] for name in scenarios if name in evidence.runs}
    if runs:
        return runs
    reasons = [evidence.skipped[name] for name in scenarios if name in evidence.skipped]
    return Obstacle(reasons[0] if reasons else f"no dataset with {_NAMES[scenarios[0]]} was given", skips=bool(reasons))


def _judge(clause: Clause, evidence: LoaderEvidence, scenarios: Sequence[Scenario], hint: str) -> list[Finding]:
    """Judge each scenario; tell all that went wrong, else all in one."""
    runs = _applicable(evidence, scenarios)
    if isinstance(runs, Obstacle):
        return [runs.finding(clause, evidence.subject)]
    outcomes = {name: _find_outcome(name, evidence.runs["sound"], run) for name, run in runs.items()}
    wrong = {name: outcome for name, outcome in outcomes.items() if outcome.level is not None}
    if not wrong:
        observed = "; ".join(f"{_NAMES[name]} {outcome.told}" for name, outcome in outcomes.items())
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{_NAMES[name]} {outcome.told}",
            measure=float(outcome.count),
            bound=0.0,
            hint=hint,
            level=outcome.level,
        )
        for name, outcome in wrong.items()
    ]


def _find_outcome(scenario: str, sound: LoaderRun, run: LoaderRun) -> _Outcome:
    """Say what became of the bad sample: replaced, trained, or without harm."""
    replaced = _find_replacement(sound, run)
    if replaced:
        said = f" ({run.reports[0]})" if run.reports else ""
        return _Outcome(f"is replaced: {replaced}{said}", Level.MUST, 1)
    defects = _find_defects(scenario, sound, run)
    if defects and run.rows is not None:
        first = _name(run, defects[0])
        return _Outcome(f"is taken: {len(defects)} rows {_WRONG[scenario]}; first: {first}", Level.MUST, len(defects))
    return _find_mild_outcome(run)


def _find_mild_outcome(run: LoaderRun) -> _Outcome:
    """Say how a sample that did no harm was dealt with: refused, reported, or passed over in silence."""
    if run.refusal:
        return _Outcome(f"is refused: {run.refusal}")
    if run.misfit is not None:
        return _Outcome(f"makes a batch that no model takes: {run.misfit.reason}")
    present = run.rows is not None and bool(find_anchors(run.rows, run.samples).belongs_to(BAD).any())
    if run.reports:
        return _Outcome(f"{'is taken in part' if present else 'is left out'}, with a word: {run.reports[0]}")
    if present:
        return _Outcome("is taken without a word, though none of its rows is trained out of step", Level.SHOULD, 1)
    return _Outcome("is left out without a word", Level.SHOULD, 1)


_WRONG: dict[str, str] = {
    "nonfinite": "with values that are no numbers, or with others in their place, reach training",
    "row-missing": "are trained with another token or final state than their own",
    "row-surplus": "are trained with another token or final state than their own",
    "foreign": "are trained",
    "corrupt": "are trained",
    "missing": "are trained",
}


def _find_defects(scenario: str, sound: LoaderRun, run: LoaderRun) -> list[int]:
    """Give the rows of the bad sample that harm: trained and unlike the sound dataset, or infected."""
    if run.rows is None:
        return []
    rows, usual, keys = run.rows, set(row_keys(sound)), row_keys(run)
    own = find_anchors(rows, run.samples).belongs_to(BAD)
    infected = (rows.sample == NOT_FINITE).any(axis=1) & ((rows.documents >= 0) | rows.trained)
    if scenario == "foreign":
        return np.flatnonzero(own & rows.trained).tolist()
    trained = [row for row in np.flatnonzero(own & rows.trained).tolist() if keys[row] not in usual]
    return sorted({*trained, *np.flatnonzero(infected).tolist()})


def _find_replacement(sound: LoaderRun, run: LoaderRun) -> str:
    """Say which sample comes more often than in the sound dataset; empty if none does."""
    before, after = Counter(row_keys(sound)), Counter(row_keys(run))
    more = Counter(key[0] for key, count in after.items() if key[0] >= 0 and key[0] != BAD and count > before[key] > 0)
    if not more:
        return ""
    sample, count = more.most_common()[0]
    return f"{count} rows of sample {sample} come once more in its place"
