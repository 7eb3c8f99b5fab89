"""Which target and which drafter are served, and by which algorithm the drafter is fed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import find_arguments, find_drafting_arguments, find_role_obstacle
from eagle3_contracts.clauses.server.likelihoods import Likelihoods, measure_likelihoods
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.consumers.configs import layer_table
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServedModel, ServerArguments, ServerEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.launchers import reads_planes
from eagle3_contracts.registry import Clause

TARGET_FLAG, DRAFT_FLAG, ALGORITHM_FLAG = (
    "--model-path", "--speculative-draft-model-path", "--speculative-algorithm",
)  # fmt: skip


@names_stand_ins
def check_target(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if the config of the model served is another's; without a config its name or its numbers must tell."""
    arguments = find_arguments(evidence)
    if isinstance(arguments, Obstacle):
        return [arguments.finding(clause, evidence.subject)]
    served = arguments.target
    if served is None:
        reason = Obstacle("the server does not say which target it serves", "ask an engine that does", _at(TARGET_FLAG))
        return [reason.finding(clause, evidence.subject)]
    declared = contract.target
    expected = (
        f"{declared.model}: {declared.architecture}, {declared.num_hidden_layers} layers, hidden size "
        f"{declared.hidden_size}, vocabulary {declared.vocab_size}"
    )
    if served.config is not None:
        other = list(_target_differences(contract, served.config))
        told = "; ".join(other) or "its config.json is the contract's target's"
        return [_state(clause, evidence, served, told, expected, TARGET_FLAG, len(other))]
    if _last(served.path) == _last(declared.model):
        told = "the model's name; its config.json is not on this machine"
        return [_state(clause, evidence, served, told, expected, TARGET_FLAG, 0)]
    return [_judge_by_numbers(clause, contract, evidence, served, expected)]


def _judge_by_numbers(
    clause: Clause, contract: Contract, evidence: ServerEvidence, served: ServedModel, expected: str
) -> Finding:
    """Tell a target of another name by its log-probabilities, where there is a reference to compare with."""
    numbers = measure_likelihoods(contract, evidence)
    if isinstance(numbers, Likelihoods) and numbers.within:
        told = f"its config.json is not on this machine; its log-probabilities are the target's ({numbers.told})"
        return _state(clause, evidence, served, told, expected, TARGET_FLAG, 0)
    if isinstance(numbers, Likelihoods) and numbers.another_model:
        told = f"its config.json is not on this machine, and its log-probabilities are another model's ({numbers.told})"
        return _state(clause, evidence, served, told, expected, TARGET_FLAG, 1)
    reason = (
        f"the server names {_short(served.path)}, which does not tell whether it is {contract.target.model}; its "
        "config.json is not on this machine"
    )
    hint = f"check where the model's folder is, or serve it under its name ({contract.target.model})"
    return Obstacle(reason, hint, _at(TARGET_FLAG)).finding(clause, evidence.subject)


def _target_differences(contract: Contract, config: Mapping[str, Any]) -> Iterator[str]:
    table: Any = config
    for part in filter(None, contract.target.config_path.split(".")):
        table = table.get(part) if isinstance(table, Mapping) else None
    inner = table if isinstance(table, Mapping) else {}
    wanted = {key: getattr(contract.target, key) for key in ("num_hidden_layers", "hidden_size", "vocab_size")}
    yield from _differences({"architecture": _architecture(config)}, {"architecture": contract.target.architecture})
    yield from _differences(inner, wanted)


@names_stand_ins
def check_algorithm(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if no algorithm is in effect, or one that feeds no planes; skipped where no drafting was asked for.

    A server that only a URL names is expected to draft: one without its drafter must not pass unseen.
    """
    arguments = find_arguments(evidence)
    if isinstance(arguments, Obstacle):
        return [arguments.finding(clause, evidence.subject)]
    if evidence.role == "plain" and evidence.asked_role == "capture":
        told = "the server returns no auxiliary states"
        return [_fail_algorithm(clause, evidence, told, "start it with --enable-return-aux-hidden-states")]
    obstacle = None if evidence.asked_role in {None, "eagle3"} else find_role_obstacle(evidence, "eagle3")
    if obstacle is None and not contract.drafter.fc.present:
        obstacle = Obstacle("the drafter has no fc, and what serves it was not looked up", skips=True)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    observed, sound = _judge_algorithm(arguments)
    if evidence.role == "capture" and sound:
        observed, sound = "the server captures states and drafts nothing", False
    if sound:
        return [
            clause.find(
                Verdict.PASSED,
                evidence.subject,
                observed=observed,
                expected=f"{ALGORITHM_FLAG} EAGLE3",
                where=_at(ALGORITHM_FLAG),
                measure=0.0,
                bound=0.0,
            )
        ]
    remedy = f"start the server with {ALGORITHM_FLAG} EAGLE3 {DRAFT_FLAG} DIR"
    otherwise = "; if it is meant to draft nothing, say so: capture=URL or plain=URL" * (evidence.role != "eagle3")
    return [_fail_algorithm(clause, evidence, observed, remedy + otherwise)]


def _fail_algorithm(clause: Clause, evidence: ServerEvidence, observed: str, hint: str) -> Finding:
    return clause.find(
        Verdict.FAILED,
        evidence.subject,
        observed=observed,
        expected=f"{ALGORITHM_FLAG} EAGLE3",
        where=_at(ALGORITHM_FLAG),
        measure=1.0,
        bound=0.0,
        hint=hint,
    )


def _judge_algorithm(arguments: ServerArguments) -> tuple[str, bool]:
    asked = arguments.algorithm
    if not asked:
        return "no speculative algorithm is in effect, so that the drafter is not used at all", False
    name = asked.upper() if arguments.engine == "sglang" else asked
    if reads_planes(arguments.engine, name):
        return f"{asked} feeds the captured planes to fc", True
    if name in {"EAGLE", "NEXTN"}:
        told = "captures no planes: the drafter gets the target's last hidden state, and fc is skipped without a word"
        return f"{asked} {told} where the widths agree (accept length 1.00)", False
    return f"{asked} is another way of drafting and feeds no planes to this drafter", False


@names_stand_ins
def check_drafter(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if no draft model is served, if it is the target, or if its config is another drafter's."""
    arguments = find_drafting_arguments(evidence)
    if isinstance(arguments, Obstacle):
        return [arguments.finding(clause, evidence.subject)]
    drafter, served, target = contract.drafter, arguments.draft, arguments.target
    expected = (
        f"the contract's drafter: hidden size {drafter.hidden_size}, {drafter.draft_vocab_size} rows of lm_head, "
        f"{drafter.attention.heads} heads"
    )
    if served is None or not served.path:
        told = "no draft model: the server drafts with what the target's checkpoint brings along, or not at all"
        return [_state(clause, evidence, ServedModel(""), told, expected, DRAFT_FLAG, 1)]
    if target is not None and target.path == served.path:
        return [_state(clause, evidence, served, "the target itself", expected, DRAFT_FLAG, 1)]
    if served.config is None:
        why = served.problem.reason if served.problem else "its config.json is not on this machine"
        reason = f"the draft model is {_short(served.path)}, and {why}: whose drafter it is cannot be told"
        hint = "check where the drafter's folder is; its files have a stage of their own (--contract-checkpoint DIR)"
        return [Obstacle(reason, hint, _at(DRAFT_FLAG)).finding(clause, evidence.subject)]
    other = list(_drafter_differences(contract, served.config))
    told = "; ".join(other) or "its config.json is the contract's drafter's"
    return [_state(clause, evidence, served, told, expected, DRAFT_FLAG, len(other))]


def _drafter_differences(contract: Contract, config: Mapping[str, Any]) -> Iterator[str]:
    drafter, layer = contract.drafter, layer_table(config)
    if drafter.architecture is not None:
        yield from _differences({"architecture": _architecture(config)}, {"architecture": drafter.architecture})
    yield from _differences(config, {"draft_vocab_size": drafter.draft_vocab_size})
    heads = {"num_attention_heads": drafter.attention.heads}
    if drafter.attention.kind == "gqa":
        heads["num_key_value_heads"] = drafter.attention.kv_heads
    wanted = {"hidden_size": drafter.hidden_size, "intermediate_size": drafter.intermediate_size, **heads}
    yield from _differences(layer, {**wanted, "vocab_size": contract.target.vocab_size})


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    """Say which keys are there and hold another value; a key that is not there tells nothing."""
    for key, value in wanted.items():
        there = found.get(key)
        if there is not None and there != value:
            yield f"{key} {str(there)[:60]}, not {value}"


def _architecture(config: Mapping[str, Any]) -> str | None:
    names = config.get("architectures")
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None


def _state(
    clause: Clause, evidence: ServerEvidence, served: ServedModel, told: str, expected: str, flag: str, wrong: int
) -> Finding:
    name = f"{_short(served.path)}: " if served.path else ""
    whose = "target" if flag == TARGET_FLAG else "drafter"
    return clause.find(
        Verdict.FAILED if wrong else Verdict.PASSED,
        evidence.subject,
        observed=f"{name}{told}",
        expected=expected,
        where=_at(flag),
        measure=float(wrong),
        bound=0.0,
        hint=f"start the server with the contract's {whose}: {flag} DIR" if wrong else "",
    )


def _last(name: str) -> str:
    return PurePosixPath(name).name.casefold()


def _short(path: str) -> str:
    return path[-80:]


def _at(flag: str) -> Where:
    return Where(flag=flag)
