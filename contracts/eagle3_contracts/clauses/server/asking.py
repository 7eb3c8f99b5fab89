"""What a server's evidence can answer, and why a clause cannot be decided on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from eagle3_contracts.clauses.obstacles import NO_TARGET, Obstacle, first_problem, from_problem
from eagle3_contracts.clauses.wording import say_count
from eagle3_contracts.contract import Contract, Plane
from eagle3_contracts.evidence.server import (
    ServedAnswer,
    ServedPrediction,
    ServedProbe,
    ServerArguments,
    ServerEvidence,
    ServerRole,
)
from eagle3_contracts.findings import Rung, Where

Run = Literal["alone", "repeated", "batched"]

FAILS_TO_ANSWER = (
    "unreachable", "timeout", "status", "no-json", "too-large", "truncated", "malformed", "exited",
)  # fmt: skip
"""Kinds of problems that are the server's own: no answer, or none that can be read."""

STATES_FLAGS = {
    "eagle3": "--enable-return-hidden-states",
    "capture": "--enable-return-aux-hidden-states",
    "plain": "--enable-return-hidden-states",
}
"""The flag by which SGLang returns hidden states, by what the server is for."""

_SHOWS = {
    "eagle3": "a server with the drafter loaded shows it",
    "planes": "a server with the drafter loaded, or one that captures auxiliary states, shows it",
}
_IS = {
    "eagle3": "the server drafts",
    "capture": "the server captures states and drafts nothing",
    "plain": "the server neither drafts nor captures auxiliary states",
}

OCCASIONS: dict[Run, str] = {"alone": "", "repeated": " the second time", "batched": " in the batch"}
"""How an answer is told from the probe's first one."""


def name_probe(number: int, probe: ServedProbe) -> str:
    """Name a probe by its number and length: ``probe 2 (33 tokens)``."""
    return f"probe {number} ({say_count(len(probe.token_ids), 'token')})"


def find_arguments(evidence: ServerEvidence) -> ServerArguments | Obstacle:
    """Give what the server says of itself, or why that is not known."""
    if evidence.arguments is not None:
        return evidence.arguments
    problem = first_problem(evidence.problems)
    if problem is not None:
        return from_problem(problem)
    return Obstacle(
        "the server does not say what it was started with",
        "look whether something before it keeps /server_info (/get_server_info) back, and give the engine's address",
    )


def find_role_obstacle(evidence: ServerEvidence, *roles: ServerRole) -> Obstacle | None:
    """Say that a server of this role cannot show it, or give None; one whose role is not known is no obstacle."""
    if evidence.role is None or evidence.role in roles:
        return None
    shows = _SHOWS["eagle3" if roles == ("eagle3",) else "planes"]
    return Obstacle(f"{_IS[evidence.role]}; {shows}", skips=True)


def find_drafting_arguments(evidence: ServerEvidence) -> ServerArguments | Obstacle:
    """Give the arguments of a server that drafts, or why there is nothing to judge."""
    arguments = find_arguments(evidence)
    return arguments if isinstance(arguments, Obstacle) else find_role_obstacle(evidence, "eagle3") or arguments


@dataclass(frozen=True, slots=True)
class Answered:
    """A probe that was answered: its number from 1, the probe, and the answer of the run asked for."""

    number: int
    probe: ServedProbe
    answer: ServedAnswer

    @property
    def name(self) -> str:
        """Name the probe."""
        return name_probe(self.number, self.probe)


def find_answers(evidence: ServerEvidence, run: Run = "alone") -> list[Answered] | Obstacle:
    """Give the answers of a run, all of them or the reason why there are fewer."""
    found = [
        Answered(number, probe, answer)
        for number, probe in enumerate(evidence.probes, 1)
        if (answer := getattr(probe, run)) is not None
    ]
    if found and len(found) == len(evidence.probes):
        return found
    problem = first_problem(evidence.problems, *FAILS_TO_ANSWER, "foreign") or first_problem(evidence.problems)
    if problem is not None:
        return from_problem(problem)
    told = "no request was made" if not evidence.probes else f"{len(found)} of {len(evidence.probes)} probes answered"
    return Obstacle("; ".join([f"{told} ({run})", *evidence.notes]), "see server.reachable")


def every_answer(evidence: ServerEvidence) -> Iterator[tuple[Run, Answered]]:
    """Give every answer that came, run by run."""
    runs: tuple[Run, ...] = ("alone", "repeated", "batched")
    for run in runs:
        for number, probe in enumerate(evidence.probes, 1):
            answer = getattr(probe, run)
            if answer is not None:
                yield run, Answered(number, probe, answer)


def find_predictions(evidence: ServerEvidence) -> list[tuple[Answered, ServedPrediction]] | Obstacle:
    """Give each answer with what it should have been, or why that is not known."""
    found = find_answers(evidence)
    if isinstance(found, Obstacle):
        return found
    pairs = [(item, item.probe.prediction) for item in found]
    known = [(item, prediction) for item, prediction in pairs if prediction is not None]
    if known and len(known) == len(pairs):
        return known
    return find_reference_obstacle(evidence)


def find_reference_obstacle(evidence: ServerEvidence) -> Obstacle:
    """Say why nothing was predicted: the target cannot be used, holds too little, or was not given."""
    problem = first_problem(evidence.problems, "target", "needs")
    if problem is not None:
        return from_problem(problem)
    if evidence.comparison is None or evidence.comparison.rung is Rung.FULL:
        return NO_TARGET
    rung = evidence.comparison.rung
    hint = "give a target that holds all weights: --contract-target DIR"
    return Obstacle(f"the target at hand reaches the rung {rung!s} only, and predicts nothing", hint, rung=rung)


def find_states_obstacle(evidence: ServerEvidence) -> Obstacle | None:
    """Say why there are no rows to judge, or give None if every answer has a table of them."""
    found = find_answers(evidence)
    if isinstance(found, Obstacle):
        return found
    if all(item.answer.rows is not None for item in found):
        return None
    arguments = evidence.arguments
    switched_off = arguments is not None and arguments.returns_hidden_states is False
    if switched_off and not any(item.answer.rows is not None or item.answer.ragged for item in found):
        return Obstacle("the server returns no hidden states", ask_for_states(evidence), skips=True)
    return Obstacle("not every answer has hidden states", "see server.hidden-states", Where(flag=_flag(evidence)))


def ask_for_states(evidence: ServerEvidence) -> str:
    """Write the flags with which the server returns hidden states of whole prompts."""
    return (
        f"start one like it with {_flag(evidence)} --disable-radix-cache --chunked-prefill-size -1; a server in "
        "production, which returns none, is watched from inside (eagle3_contracts.guards)"
    )


def _flag(evidence: ServerEvidence) -> str:
    return STATES_FLAGS[evidence.role or "eagle3"]


def expected_planes(contract: Contract, evidence: ServerEvidence) -> tuple[Plane, ...]:
    """Give the planes that come back, in order: those fed to the drafter; of a plain server its final state.

    SGLang returns that one after the final norm (layers/logits_processor.py), whatever a dataset stores.
    """
    if evidence.role != "plain":
        return contract.input_planes()
    return (Plane(name="final", boundary=contract.target.num_hidden_layers, state="post_norm"),)
