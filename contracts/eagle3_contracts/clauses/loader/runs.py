"""That the loader ran, and that it left the disk alone (``runs``, ``read-only``)."""

from __future__ import annotations

from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LoadedRows, LoaderEvidence, LoaderRun
from eagle3_contracts.findings import Finding, Level, Verdict, Where
from eagle3_contracts.registry import Clause

_SHOWN = 3
_MASK_FIRST = "mend the mask first: see loader.mask-shift"


def find_obstacle(evidence: LoaderEvidence) -> Obstacle | None:
    """Say why there are no rows of a sound dataset to judge, or give None."""
    sound = evidence.runs.get("sound")
    if sound is None:
        problem = first_problem(evidence.problems)
        return from_problem(problem) if problem else Obstacle("the loader was not run", "report this as a defect")
    if sound.misfit is not None:
        return from_problem(sound.misfit)
    if sound.refusal:
        return Obstacle(f"the loader raised on a sound dataset: {sound.refusal}", "see loader.runs")
    if sound.rows is None or not len(sound.rows):
        return Obstacle("the loader gave no rows of a sound dataset", "see loader.runs")
    return None


def keep_open_untrained(clause: Clause, evidence: LoaderEvidence, findings: list[Finding]) -> list[Finding]:
    """Give findings on trained rows, or one that is errored where they pass because no row was trained at all."""
    if sound_rows(evidence).trained.any() or any(item.verdict is not Verdict.PASSED for item in findings):
        return findings
    obstacle = Obstacle("no row of a sound dataset is trained, so that none can be trained wrongly", _MASK_FIRST)
    return [obstacle.finding(clause, evidence.subject)]


def sound_rows(evidence: LoaderEvidence) -> LoadedRows:
    """Give the rows of the sound dataset; only where ``find_obstacle`` gave None."""
    rows = evidence.runs["sound"].rows
    if rows is None:
        raise LookupError("no sound run: ask find_obstacle first")
    return rows


def check_runs(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if the loader raises on a sound dataset, or gives no step zero of it."""
    del contract
    needs = first_problem(evidence.problems, "needs")
    if needs is not None:
        return [from_problem(needs).finding(clause, evidence.subject)]
    obstacle = find_obstacle(evidence)
    if obstacle is None:
        return [_tell_run(clause, evidence, evidence.runs["sound"])]
    if not evidence.runs and not evidence.problems:
        return [obstacle.finding(clause, evidence.subject)]
    if any(problem.kind == "unsupported" for problem in evidence.problems):
        return [obstacle.finding(clause, evidence.subject)]
    hint = obstacle.hint if obstacle.hint != f"see {clause.id}" else ""
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=obstacle.reason,
            expected=f"step zero of {_say_dataset(evidence)}",
            measure=1.0,
            bound=0.0,
            hint=hint or "run the loader over one small dataset by itself, and mend what it raises",
        )
    ]


def _say_dataset(evidence: LoaderEvidence) -> str:
    planes = f" with the planes {', '.join(evidence.stored)}" if evidence.stored else ""
    return f"a dataset of format {evidence.format or 'unknown'}{planes}"


def _tell_run(clause: Clause, evidence: LoaderEvidence, run: LoaderRun) -> Finding:
    rows = sound_rows(evidence)
    batches = int(rows.batch.max()) + 1
    lengths = ", ".join(str(sample.length) for sample in run.samples)
    observed = (
        f"{say_count(len(rows), 'row')} in {batches} batch{'es' if batches > 1 else ''} of "
        f"{len(run.samples)} samples ({lengths} tokens), {int(rows.trained.sum())} trained"
    )
    hint = "the loader did not end by itself and was stopped; give one epoch" if run.stopped else ""
    return clause.find(Verdict.PASSED, evidence.subject, observed=observed, hint=hint)


def check_read_only(clause: Clause, contract: Contract, evidence: LoaderEvidence) -> list[Finding]:
    """Fail if a run changed or removed a file of its dataset; new files beside them violate a should."""
    del contract
    obstacle = None if evidence.runs else find_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    changed = [(name, file) for name, run in evidence.runs.items() for file in run.changed]
    added = [(name, file) for name, run in evidence.runs.items() for file in run.added]
    if not changed and not added:
        observed = f"every file of {say_count(len(evidence.runs), 'dataset')} is as it was before loading"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, measure=0.0, bound=0.0)]
    files = changed or added
    told = ", ".join(dict.fromkeys(file for _, file in files[:_SHOWN]))
    what = "changed or removed" if changed else "added beside the samples"
    return [
        clause.find(
            Verdict.FAILED,
            evidence.subject,
            observed=f"{say_count(len(files), 'file')} {what} while loading: {told} ({files[0][0]} dataset)",
            where=Where(file=files[0][1]),
            measure=float(len(files)),
            bound=0.0,
            hint="copy a tensor before writing to it (tensor.clone()), open files for reading, keep caches elsewhere",
            level=None if changed else Level.SHOULD,
        )
    ]
