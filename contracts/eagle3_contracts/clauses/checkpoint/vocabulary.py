"""The draft vocabulary: d2t as every engine adds it to the draft id, t2d, and what must be in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagle3_contracts.clauses.checkpoint.files import find_config_obstacle, find_tensor_obstacle
from eagle3_contracts.clauses.checkpoint.judging import Defect, state
from eagle3_contracts.clauses.obstacles import Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

_D2T, _T2D = Where(tensor="d2t"), Where(tensor="t2d")
_REBUILD = "build d2t again: d2t[i] = target id of draft id i, minus i"


def _find_obstacle(contract: Contract, evidence: CheckpointEvidence) -> Obstacle | None:
    """Say why there is no d2t to judge, or give None."""
    if contract.drafter.d2t == "none":
        return Obstacle("the drafter's vocabulary is the target's, and has no d2t", skips=True)
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None or evidence.d2t is not None:
        return obstacle
    told = first_problem(evidence.problems, "vocabulary")
    return from_problem(told) if told else Obstacle("the checkpoint holds no d2t", "see checkpoint.tensors-present")


def target_ids(contract: Contract, d2t: Any) -> Any:
    """Give the target id of every draft id, by d2t as the contract reads it."""
    return d2t if contract.drafter.d2t == "absolute" else d2t + np.arange(len(d2t))


def looks_absolute(d2t: Any) -> bool:
    """Tell whether entries are ids: they rise at every step, as offsets do only if no two ids are neighbours."""
    return len(d2t) > 1 and bool((np.diff(d2t) > 0).all())


def check_d2t_reading(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for ids where offsets are declared, and the other way round; t2d decides where it is there."""
    obstacle = _find_obstacle(contract, evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    d2t, declared = evidence.d2t, contract.drafter.d2t
    assert d2t is not None  # noqa: S101 (the obstacle says so)
    found = _read_by_marks(d2t, evidence.t2d) or ("absolute" if looks_absolute(d2t) else "offset")
    words = {"offset": "offsets from draft id to target id", "absolute": "the target ids themselves"}
    first = ", ".join(map(str, d2t[:4]))
    hint = {
        "offset": f"every engine adds the draft id to it; {_REBUILD}",
        "absolute": 'no tool writes ids themselves: declare drafter.d2t = "offset" if these are offsets',
    }[declared]
    wrong = [] if found == declared else [Defect(f"d2t holds {words[found]} ({first}, ...)", _D2T, hint)]
    return state(clause, evidence, wrong, sound=f"{words[found]} ({first}, ...)", expected=words[declared])


def _read_by_marks(d2t: Any, t2d: Any) -> str:
    """Say which reading leads to the marked ids; empty if none or both do."""
    if t2d is None:
        return ""
    marked = np.nonzero(t2d)[0]
    readings = {"offset": d2t + np.arange(len(d2t)), "absolute": d2t}
    fitting = [name for name, ids in readings.items() if len(ids) == len(marked) and (np.sort(ids) == marked).all()]
    return fitting[0] if len(fitting) == 1 else ""


def check_d2t_ids(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for target ids outside the vocabulary, and where they do not rise strictly (a token drafted by two ids)."""
    obstacle = _find_obstacle(contract, evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    ids, size = target_ids(contract, evidence.d2t), contract.target.vocab_size
    outside = np.nonzero((ids < 0) | (ids >= size))[0]
    falling = np.nonzero(np.diff(ids) <= 0)[0]
    defects = []
    if len(outside):
        at = int(outside[0])
        defects.append(
            Defect(
                f"{say_count(len(outside), 'draft id')} lead outside 0..{size - 1}, first {at} to {ids[at]}",
                _D2T,
                f"{_REBUILD}, of the target's own tokenizer",
                float(len(outside)),
            )
        )
    if len(falling):
        at = int(falling[0])
        told = f"draft ids {at} and {at + 1} lead to {ids[at]} and {ids[at + 1]}"
        defects.append(
            Defect(
                f"target ids do not rise at {say_count(len(falling), 'place')}, first where {told}",
                _D2T,
                f"{_REBUILD}, over target ids in rising order: rows of lm_head are in that order",
                float(len(falling)),
            )
        )
    sound = f"{len(ids):,} target ids from {ids[0] if len(ids) else '-'} to {ids[-1] if len(ids) else '-'}, rising"
    return state(clause, evidence, defects, sound=sound, expected=f"rising ids within 0..{size - 1}")


def check_draft_vocabulary(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a vocabulary of fewer ids than the target's that is its first ones: zeros, which nobody filled."""
    obstacle = _find_obstacle(contract, evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    ids = target_ids(contract, evidence.d2t)
    if len(ids) >= contract.target.vocab_size:
        return [
            Obstacle("the draft vocabulary is the whole of the target's", skips=True).finding(clause, evidence.subject)
        ]
    wrong = []
    if len(ids) and (ids == np.arange(len(ids))).all():
        hint = "write the d2t that training counted (speculators: vocab_mapping; SpecForge: its vocab mapping file)"
        wrong = [Defect(f"target ids are 0..{len(ids) - 1}: the first {len(ids):,} of the target's", _D2T, hint)]
    share = float((ids == np.arange(len(ids))).mean()) if len(ids) else 0.0
    return state(
        clause,
        evidence,
        wrong,
        sound=f"{len(ids):,} of {contract.target.vocab_size:,} ids, {share:.0%} of them at their own place",
        expected="ids chosen from the whole vocabulary",
    )


def check_t2d_agrees(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a t2d that marks other ids than d2t leads to; skipped where none is stored (ModelOpt)."""
    obstacle = _find_obstacle(contract, evidence)
    if obstacle is None and evidence.t2d is None:
        obstacle = Obstacle("no t2d is stored; no engine reads one", skips=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    assert evidence.t2d is not None  # noqa: S101 (the obstacle says so)
    size, marks = contract.target.vocab_size, evidence.t2d
    ids = target_ids(contract, evidence.d2t)
    reached = np.zeros(size, dtype=bool)
    reached[ids[(ids >= 0) & (ids < size)]] = True
    hint = "both must come from one counting: trainers take targets by t2d, and drafted ids are read by d2t"
    if len(marks) != size:
        wrong = [
            Defect(f"t2d has {len(marks):,} entries, the vocabulary {size:,}", _T2D, hint, float(len(marks)), size)
        ]
    else:
        odd = int((marks != reached).sum())
        marked = say_count(int(marks.sum()), "id")
        told = f"t2d marks {marked}, d2t leads to {int(reached.sum()):,}; they differ at {odd:,}"
        wrong = [Defect(told, _T2D, hint, float(odd))] if odd else []
    sound = f"{say_count(int(marks.sum()), 'id')} marked, all reached"
    return state(clause, evidence, wrong, sound=sound, expected="marks at the ids that d2t leads to, and nowhere else")


def check_vocabulary_size(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail where d2t, lm_head or draft_vocab_size have another size than ``drafter.draft_vocab_size``."""
    obstacle = find_tensor_obstacle(evidence) or find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared, head = contract.drafter.draft_vocab_size, evidence.canonical().get("lm_head.weight")
    sizes = {
        "d2t": (None if evidence.d2t is None else len(evidence.d2t), _D2T),
        "lm_head": (head.shape[0] if head and head.shape else None, Where(tensor="lm_head.weight")),
        "draft_vocab_size": (
            evidence.config.get("draft_vocab_size"),
            Where(file="config.json", flag="draft_vocab_size"),
        ),
    }
    hint = f"one counting decides all three: export with draft_vocab_size {declared} and the d2t of that size"
    defects = [
        Defect(f"{name} has {found!r} entries, the contract {declared:,}", where, hint)
        for name, (found, where) in sizes.items()
        if found is not None and found != declared
    ]
    told = ", ".join(name for name, (found, _) in sizes.items() if found is not None)
    if not told:
        whole = declared == contract.target.vocab_size
        reason = "nothing states a draft vocabulary" + (", and the target's whole one is declared" if whole else "")
        return [Obstacle(reason, skips=whole).finding(clause, evidence.subject)]
    return state(clause, evidence, defects, sound=f"{declared:,} in {told}", expected=f"{declared:,} everywhere")


def check_special_tokens(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for ends of text and byte tokens that no draft id leads to."""
    obstacle = _find_obstacle(contract, evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if not evidence.special_tokens:
        reason = "no target's folder was given that says where a text ends (eos_token_id)"
        hint = "give the target's folder with generation_config.json and tokenizer.json: --contract-target DIR"
        return [clause.find(Verdict.SKIPPED, evidence.subject, observed=reason, hint=hint)]
    reached = set(target_ids(contract, evidence.d2t).tolist())
    missing = [label for label, item in evidence.special_tokens.items() if item not in reached]
    told = ", ".join(missing[:4]) + (f" and {len(missing) - 4} more" if len(missing) > 4 else "")
    hint = "pin ends of text and byte tokens when the frequent tokens are chosen; others can never be drafted"
    wrong = [Defect(f"no draft id leads to {told}", _D2T, hint, float(len(missing)))] if missing else []
    sound = f"{say_count(len(evidence.special_tokens), 'special token')} can be drafted"
    return state(clause, evidence, wrong, sound=sound, expected="ends of text and byte tokens in the draft vocabulary")
