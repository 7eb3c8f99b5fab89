"""How much is drafted, and how far the drafter's positions reach, by the server's own arguments."""

from __future__ import annotations

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.clauses.server.asking import find_drafting_arguments
from eagle3_contracts.clauses.server.stand_ins import names_stand_ins
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.consumers.configs import layer_table
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence.server import ServerArguments, ServerEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.launchers import Effect, draft_effect
from eagle3_contracts.launchers.speculation import Drafting
from eagle3_contracts.registry import Clause

_TOKENS_FLAG, _CONTEXT_FLAG = "--speculative-num-draft-tokens", "--context-length"


@names_stand_ins
def check_draft_tokens(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if fewer tokens are drafted than asked for, than the contract wants, or than steps and topk come to."""
    arguments = find_drafting_arguments(evidence)
    if isinstance(arguments, Obstacle):
        return [arguments.finding(clause, evidence.subject)]
    tokens = arguments.draft_tokens
    if tokens is None:
        reason = "the server does not say how many tokens it drafts"
        return [Obstacle(reason, "ask an engine that does", Where(flag=_TOKENS_FLAG)).finding(clause, evidence.subject)]
    least = contract.serving.min_draft_tokens if contract.serving is not None else None
    asked = arguments.asked_draft_tokens
    effect = _effect(contract, arguments)
    real = tokens if effect is None or effect.tokens is None else min(tokens, effect.tokens)
    wrong = (
        (asked is not None and real != asked)
        or (least is not None and real < least)
        or (effect is not None and effect.tokens != tokens)
    )
    wanted = max(asked or 0, least or 0)
    return [
        clause.find(
            Verdict.FAILED if wrong else Verdict.PASSED,
            evidence.subject,
            observed=_say_drafted(arguments, tokens, real, effect),
            expected=_say_wanted(asked, least) or "as many as steps and topk come to",
            where=Where(flag=_TOKENS_FLAG),
            measure=float(real),
            bound=float(wanted or tokens),
            hint=_mend(wanted or tokens) if wrong else "",
        )
    ]


def _effect(contract: Contract, arguments: ServerArguments) -> Effect | None:
    """Give what steps and topk come to by the rules read in the engine; None where the server does not name them."""
    if arguments.steps is None or arguments.topk is None or arguments.engine != "sglang":
        return None
    drafting = Drafting(arguments.steps, arguments.topk, arguments.draft_tokens)
    return draft_effect(arguments.engine, drafting, contract.target.architecture)


def _say_drafted(arguments: ServerArguments, tokens: int, real: int, effect: Effect | None) -> str:
    asked = arguments.asked_draft_tokens
    count = f"{real} of {asked}" if asked is not None and asked != real else f"{real}"
    steps = "steps not said" if arguments.steps is None else say_count(arguments.steps, "step")
    topk = "topk not said" if arguments.topk is None else f"topk {arguments.topk}"
    told = f"{count} draft tokens are in effect ({steps}, {topk})"
    if effect is None:
        return told
    if effect.tokens is None:
        return f"{told}, and yet {effect.why}"
    said = "" if effect.tokens == tokens else f"; the server says {tokens}"
    return f"{told}: {effect.why}{said}"


def _say_wanted(asked: int | None, least: int | None) -> str:
    wanted = [f"{asked}, as asked for"] if asked is not None else []
    wanted += [f"at least {least} (serving.min_draft_tokens)"] if least is not None else []
    return " and ".join(wanted)


def _mend(wanted: int) -> str:
    return (
        f"for a chain of {wanted} start with --speculative-num-steps {wanted - 1} --speculative-eagle-topk 1 "
        f"{_TOKENS_FLAG} {wanted}; for a tree of {wanted} with a larger --speculative-eagle-topk"
    )


@names_stand_ins
def check_context(clause: Clause, contract: Contract, evidence: ServerEvidence) -> list[Finding]:
    """Fail if contexts may be longer than the drafter's positions, or are shorter than the contract promises."""
    arguments = find_drafting_arguments(evidence)
    if isinstance(arguments, Obstacle):
        return [arguments.finding(clause, evidence.subject)]
    length = arguments.context_length
    if length is None:
        reason = "the server does not say how long contexts may be"
        hint = f"start it with {_CONTEXT_FLAG}"
        return [Obstacle(reason, hint, Where(flag=_CONTEXT_FLAG)).finding(clause, evidence.subject)]
    reach, whose = _reach(contract, arguments)
    promised = contract.serving.context_length if contract.serving is not None else None
    observed = f"contexts of {length:,} tokens, positions of the drafter up to {reach:,} ({whose})"
    hint, bound = "", reach
    if length > reach:
        hint = f"serve {_CONTEXT_FLAG} {reach}, or train the drafter further"
    elif promised is not None and length < promised:
        observed += f", where the contract promises {promised:,}"
        hint, bound = f"serve {_CONTEXT_FLAG} {promised}, or promise less (serving.context_length)", promised
    return [
        clause.find(
            Verdict.FAILED if hint else Verdict.PASSED,
            evidence.subject,
            observed=observed,
            where=Where(flag=_CONTEXT_FLAG),
            measure=float(length),
            bound=float(bound),
            hint=hint,
        )
    ]


def _reach(contract: Contract, arguments: ServerArguments) -> tuple[int, str]:
    """Give the drafter's positions: the contract's, or fewer if the config served says so."""
    config = arguments.draft.config if arguments.draft is not None else None
    stored = layer_table(config).get("max_position_embeddings") if config is not None else None
    known = contract.drafter.max_position
    fewer = isinstance(stored, int) and not isinstance(stored, bool) and stored < known
    return (int(stored), "its config.json") if fewer and stored is not None else (known, "drafter.max_position")
