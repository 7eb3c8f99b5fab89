"""The drafter in the command: the algorithm, the model, and how many tokens it drafts after all flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eagle3_contracts.clauses.launch.asking import (
    Answer,
    Served,
    add_unread,
    ask,
    find_drafting_obstacle,
    served_by,
    where_of,
)
from eagle3_contracts.clauses.launch.overriding import judge_overrides
from eagle3_contracts.clauses.obstacles import Obstacle, from_problem
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import LaunchEvidence
from eagle3_contracts.findings import Finding, Level, Verdict
from eagle3_contracts.launchers import Effect, draft_effect, reads_planes
from eagle3_contracts.launchers.flags import releases_of
from eagle3_contracts.launchers.speculation import CASE_MATTERS_BEFORE, CHAINS, FAMILIAR, Drafting
from eagle3_contracts.registry import Clause

_TABLE = "--speculative-config"


def algorithm_of(evidence: LaunchEvidence) -> tuple[str | None, Answer]:
    """Give the algorithm that is asked for, None if none is, and where; vLLM guesses it from the draft's name."""
    if evidence.engine == "sglang":
        answer = ask(evidence, "--speculative-algorithm")
        return answer.text, answer
    answer = _ask_table(evidence, "--spec-method", "--spec-model")
    method, model = evidence.speculation.get("method"), evidence.speculation.get("model")
    if isinstance(method, str):
        return method, answer
    if not isinstance(model, str):
        return None, answer
    name = model.lower()
    if "eagle-" in name or "eagle3" in name:
        return ("eagle" if "eagle-" in name else "eagle3"), answer
    reason = f"no method is given, and {model[:60]} does not say it: vLLM reads it from the draft's config"
    return None, Answer(
        answer.argument,
        answer.obstacle or Obstacle(reason, 'write "method": "eagle3"', where_of(evidence, answer.argument)),
    )


def _ask_table(evidence: LaunchEvidence, *single: str) -> Answer:
    """Look for what gives keys of vLLM's table: it, or flags of their own; one that is open leaves the key open."""
    answers = [answer for name in (_TABLE, *single) if (answer := ask(evidence, name)).given]
    return next((answer for answer in answers if answer.obstacle is not None), ask(evidence, _TABLE, *single))


def check_algorithm(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if none is asked for, if the engine does not know it, or if it feeds no planes to the drafter."""
    obstacle = find_drafting_obstacle(evidence)
    if obstacle is None and not contract.drafter.fc.present:
        obstacle = Obstacle("the drafter has no fc, and what serves it was not looked up", skips=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    asked, answer = algorithm_of(evidence)
    if answer.obstacle is not None:
        return [answer.obstacle.finding(clause, evidence.subject)]
    served = served_by(contract, evidence)
    observed, hint = _judge_algorithm(evidence.engine, asked, served)
    wanted = {"sglang": "--speculative-algorithm EAGLE3", "vllm": '"method": "eagle3" in --speculative-config'}
    finding = clause.find(
        Verdict.FAILED if hint else Verdict.PASSED,
        evidence.subject,
        observed=observed,
        expected=wanted[evidence.engine],
        where=where_of(evidence, answer.argument, flag="" if answer.argument else _flag_of(evidence)),
        measure=float(bool(hint)),
        bound=0.0,
        hint=hint,
    )
    return add_unread(clause, evidence, served, [finding])


def _flag_of(evidence: LaunchEvidence) -> str:
    """Name the flag that carries the algorithm."""
    return "--speculative-algorithm" if evidence.engine == "sglang" else _TABLE


def _judge_algorithm(engine: str, asked: str | None, served: Served) -> tuple[str, str]:
    """Say what an algorithm does with the planes, and what to write instead; no hint if all is well."""
    right = f"write {clause_hint(engine)}"
    if asked is None:
        return "no speculative algorithm is asked for, so that the drafter is not used at all", right
    name = asked
    if engine == "sglang" and asked != asked.upper():
        early = tuple(r for r in served.releases if _before(r, CASE_MATTERS_BEFORE))
        if early:
            return f"{asked} is refused before {CASE_MATTERS_BEFORE}, which takes capitals only", right
        name = asked.upper()
    if reads_planes(engine, name):
        return f"{asked} feeds the captured planes to fc", ""
    if name not in FAMILIAR[engine]:
        return f"{asked} is no algorithm of {engine} (nor one that a plugin is known to add)", right
    if name.upper() in {"EAGLE", "NEXTN"}:
        told = f"{asked} captures no planes: the drafter gets the target's last hidden state"
        return f"{told}, and fc is skipped without a word where the widths agree (accept length 1.00)", right
    return f"{asked} is another way of drafting and feeds no planes to this drafter", right


def _before(release: str, bound: str) -> bool:
    known = releases_of("sglang")
    return known.index(release) < known.index(bound)


def clause_hint(engine: str) -> str:
    """Write the algorithm as the engine takes it."""
    return "--speculative-algorithm EAGLE3" if engine == "sglang" else '"method": "eagle3" into --speculative-config'


def check_draft_path(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if no draft model is named, if it is the target, or if its config names another class of drafter.

    So it does for a flag that makes another model of it, or of the target, by values of its config. Violates a should
    only: a path at which nothing is, while the drafter that is meant lies here and is checked.
    """
    changed = judge_overrides(clause, contract, evidence, positions=False)
    if changed:
        return changed
    obstacle = find_drafting_obstacle(evidence)
    flag = "--speculative-draft-model-path" if evidence.engine == "sglang" else _TABLE
    answer = Answer()
    if obstacle is None:
        answer = ask(evidence, flag) if evidence.engine == "sglang" else _ask_table(evidence, "--spec-model")
    obstacle = obstacle or answer.obstacle
    if obstacle is None and evidence.draft is not None and evidence.draft.problem is not None:
        obstacle = from_problem(evidence.draft.problem)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    observed, hint = _judge_draft(contract, evidence)
    lost = "" if hint else _lose_draft(evidence)
    hint = hint or lost
    return [
        clause.find(
            Verdict.FAILED if hint else Verdict.PASSED,
            evidence.subject,
            observed=observed,
            where=where_of(evidence, answer.argument, flag="" if answer.argument else flag),
            measure=float(bool(hint)),
            bound=0.0,
            hint=hint,
            level=Level.SHOULD if lost else None,
        )
    ]


def _lose_draft(evidence: LaunchEvidence) -> str:
    """Say what to write for a path at which nothing is (no name of the hub begins so), where a drafter is checked."""
    if evidence.draft is None or not evidence.draft.missing or not evidence.drafter:
        return ""
    return f"the drafter that is checked is {evidence.drafter}: see that the path is where it will lie, or correct it"


def _judge_draft(contract: Contract, evidence: LaunchEvidence) -> tuple[str, str]:
    draft, target = evidence.draft, evidence.target
    flag = (
        "--speculative-draft-model-path DIR"
        if evidence.engine == "sglang"
        else '"model": "DIR" in --speculative-config'
    )
    if draft is None or not draft.text:
        told = "no draft model is named: the server stops, or takes the target's own draft layer where it has one"
        return told, f"give {flag}"
    if target is not None and target.text == draft.text:
        return f"the draft model is the target, {draft.text[:80]}", f"give the drafter's: {flag}"
    named = _architecture(draft.config)
    declared = contract.drafter.architecture
    if named and declared and named != declared:
        told = f"the config.json of {draft.text[:80]} names {named}, and the contract {declared}"
        return told, f"give the contract's drafter: {flag}"
    if draft.config is not None:
        return f"{draft.text[:80]} is there, and names {named or 'no architecture'}", ""
    absent = "is not on this machine, so that its config was not read" if draft.missing else "is no folder here"
    return f"the draft model is {draft.text[:80]}, which {absent}", ""


def _architecture(config: Any) -> str:
    names = config.get("architectures") if config is not None else None
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else ""


def check_draft_tokens(clause: Clause, contract: Contract, evidence: LaunchEvidence) -> list[Finding]:
    """Fail if the server drafts another number of tokens than it is asked for, or fewer than the contract wants."""
    obstacle = find_drafting_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    asked, answer = algorithm_of(evidence)
    known = asked is not None and (asked.upper() if evidence.engine == "sglang" else asked) in CHAINS[evidence.engine]
    if answer.obstacle is None and not known:
        reason = "without an algorithm nothing is drafted" if asked is None else f"{asked}'s number was not looked up"
        answer = Answer(answer.argument, Obstacle(reason, "see launch.algorithm", where_of(evidence, answer.argument)))
    drafting, unsure, place = _settings(evidence)
    obstacle = answer.obstacle or unsure
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    effect = draft_effect(evidence.engine, drafting, contract.target.architecture)
    if effect.outcome == "unknown":
        hint = 'write "num_speculative_tokens" into --speculative-config'
        return [Obstacle(effect.why, hint, where_of(evidence, place.argument)).finding(clause, evidence.subject)]
    served = served_by(contract, evidence)
    return add_unread(clause, evidence, served, [_judge_effect(clause, contract, evidence, effect, place)])


def _settings(evidence: LaunchEvidence) -> tuple[Drafting, Obstacle | None, Answer]:
    """Read the three numbers, and where the number of draft tokens stands."""
    if evidence.engine == "vllm":
        answer = _ask_table(evidence, "--spec-tokens")
        tokens = evidence.speculation.get("num_speculative_tokens")
        number = tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else None
        told = f"num_speculative_tokens is {str(tokens)[:40]!r}, no integer"
        strange = Obstacle(told, "write a number", where_of(evidence, answer.argument))
        return (
            Drafting(tokens=number),
            answer.obstacle or (strange if number is None and tokens is not None else None),
            answer,
        )
    answers = {name: ask(evidence, f"--speculative-{name}") for name in ("num-steps", "eagle-topk", "num-draft-tokens")}
    adaptive = ask(evidence, "--speculative-adaptive")
    blocks = [answer.obstacle for answer in answers.values() if answer.obstacle is not None]
    for answer in answers.values():
        if answer.argument is not None and answer.number is None and answer.obstacle is None:
            told = f"{answer.argument.written} is {str(answer.text)[:40]!r}, no integer"
            blocks.append(Obstacle(told, "write a number", where_of(evidence, answer.argument)))
    if adaptive.given:
        told = "--speculative-adaptive changes the number of steps while the server runs"
        blocks.append(Obstacle(told, "leave it out to fix the number", where_of(evidence, adaptive.argument)))
    numbers = {name: answer.number for name, answer in answers.items()}
    drafting = Drafting(numbers["num-steps"], numbers["eagle-topk"], numbers["num-draft-tokens"])
    place = next((answers[n] for n in ("num-draft-tokens", "num-steps", "eagle-topk") if answers[n].given), Answer())
    return drafting, blocks[0] if blocks else None, place


def _judge_effect(
    clause: Clause, contract: Contract, evidence: LaunchEvidence, effect: Effect, place: Answer
) -> Finding:
    least = contract.serving.min_draft_tokens if contract.serving is not None else None
    find: Callable[..., Finding] = clause.find
    where = where_of(evidence, place.argument, flag="" if place.argument else "--speculative-num-draft-tokens")
    wanted = [str(effect.asked)] if effect.asked is not None else []
    wanted += [f"at least {least} (serving.min_draft_tokens)"] if least is not None else []
    expected = " and ".join(wanted) or "as many draft tokens as asked for"
    bound = float(max(effect.asked or 0, least or 0))
    if effect.tokens is None:
        hint = "give --speculative-num-steps, --speculative-eagle-topk and --speculative-num-draft-tokens that fit"
        observed = f"the server stops: {effect.why}"
        return find(
            Verdict.FAILED,
            evidence.subject,
            observed=observed,
            expected=expected,
            where=where,
            measure=0.0,
            bound=bound,
            hint=hint,
        )
    differs = effect.asked is not None and effect.tokens != effect.asked
    short = least is not None and effect.tokens < least
    count = f"{effect.tokens} of {effect.asked}" if effect.asked is not None else f"{effect.tokens}"
    return find(
        Verdict.FAILED if differs or short else Verdict.PASSED,
        evidence.subject,
        observed=f"{count} draft tokens: {effect.why}",
        expected=expected,
        where=where,
        measure=float(effect.tokens),
        bound=bound,
        hint=_mend(evidence.engine, effect, least) if differs or short else "",
    )


def _mend(engine: str, effect: Effect, least: int | None) -> str:
    wanted = max(effect.asked or 0, least or 0)
    if engine == "vllm":
        return f'write "num_speculative_tokens": {wanted - 1} into --speculative-config'
    return (
        f"for a chain of {wanted} write --speculative-num-steps {wanted - 1} --speculative-eagle-topk 1 "
        f"--speculative-num-draft-tokens {wanted}; for a tree of {wanted} a larger --speculative-eagle-topk"
    )
