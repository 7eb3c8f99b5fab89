"""Asking the probes: each alone, each again, all in one batch; the first problem ends the questions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import cycle, islice

from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import ServedProbe
from eagle3_contracts.subjects.servers.asking import Question
from eagle3_contracts.subjects.servers.client import SglangClient
from eagle3_contracts.subjects.servers.failing import ServerProblemError
from eagle3_contracts.subjects.servers.probes import BATCH, NEW_TOKENS, TOP, Prompt, answer_size


@dataclass(slots=True)
class Probing:
    """What was asked and answered so far."""

    client: SglangClient
    hidden_states: bool
    probes: list[ServedProbe] = field(default_factory=list)
    problems: tuple[Problem, ...] = ()
    batch_size: int = 0
    notes: tuple[str, ...] = ()
    asking: str = ""

    def run(self, prompts: tuple[Prompt, ...]) -> None:
        """Ask all; what is not answered stays None, and ``problems`` says why."""
        self.probes = [ServedProbe(prompt) for prompt in prompts]
        try:
            for at in range(len(prompts)):
                self._ask_alone(at)
            for at in range(len(prompts)):
                self._ask_again(at)
            self._ask_batch(prompts)
        except ServerProblemError as error:
            problem = error.problem
            self.problems = (replace(problem, reason=f"{problem.reason}{self.asking}"),)

    def _ask_alone(self, at: int) -> None:
        self.asking = f" (probe {at + 1}, alone)"
        question = Question(self.probes[at].token_ids, NEW_TOKENS, self.hidden_states, TOP)
        self.probes[at] = replace(self.probes[at], alone=self.client.ask(question))

    def _ask_again(self, at: int) -> None:
        """Ask without log-probabilities: a cached prefix is then used, and its rows are lost where that happens."""
        self.asking = f" (probe {at + 1}, the second time)"
        question = Question(self.probes[at].token_ids, NEW_TOKENS, self.hidden_states)
        self.probes[at] = replace(self.probes[at], repeated=self.client.ask(question))

    def _ask_batch(self, prompts: tuple[Prompt, ...]) -> None:
        if not prompts:
            return
        several = tuple(islice(cycle(prompts), max(BATCH, len(prompts))))
        self.asking = f" ({len(several)} probes in one request)"
        states = self.hidden_states and self._fits(several)
        answers = self.client.ask_batch([Question(prompt, NEW_TOKENS, states, TOP) for prompt in several])
        self.batch_size = len(several)
        self.probes = [replace(probe, batched=answer) for probe, answer in zip(self.probes, answers, strict=False)]

    def _fits(self, several: tuple[Prompt, ...]) -> bool:
        widths = [rows.shape[1] for probe in self.probes if probe.alone and (rows := probe.alone.rows) is not None]
        fits = answer_size(several, max(widths, default=0)) <= self.client.transport.limits.size // 2
        if not fits:
            self.notes = ("hidden states were not asked for in the batch: the answer would be too large",)
        return fits
