"""What the stand-in computes: greedy text of the embedded target, drafted by the recorded drafter round by round.

The target runs by the numpy route in float64 and the drafter token by token with its keys kept, so that neither
shares its arithmetic with what the answers are held against.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.drafter import DraftSession, ReferenceDrafter
from eagle3_contracts.embedded import CONTRACT, NAME, VERSION, embedded_target, golden_root
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.targets import Target, open_target

if TYPE_CHECKING:
    from torch import Tensor

Tokens = tuple[int, ...]


def embedded_drafter_folder() -> str:
    """Give the folder of the recorded drafter."""
    return str(golden_root() / NAME / VERSION / "drafter")


@cache
def _opened() -> tuple[Contract, Target, ReferenceDrafter]:
    contract = load_contract(CONTRACT)
    target = open_target(str(embedded_target()), contract, route="numpy")
    weights = read_drafter(golden_root() / NAME / VERSION / "drafter", contract, embedded_target())
    return contract, target, ReferenceDrafter(contract, weights)


@lru_cache(maxsize=64)
def _states(tokens: Tokens) -> ReferenceStates:
    return _opened()[1].reference(tokens)


@lru_cache(maxsize=8192)
def _last_logits(tokens: Tokens) -> Array:
    return _opened()[1].reference(tokens).logits[-1:].copy()


@dataclass(frozen=True, slots=True)
class Decoded:
    """One request, computed: states of prompt and output (the last token's too), output, accepted of each round."""

    prompt: Tokens
    output: Tokens
    boundaries: Array
    final: Array
    logits: Array
    accepted: Tokens


@dataclass(frozen=True, slots=True)
class Engine:
    """An honest engine, and where it can be made another. ``steps`` drafted in a row, topk 1.

    Engines that are alike share their answers, so that every stand-in of a process computes what is sound once.

    ``seen``: the tokens that the target really reads (another target's weights). ``taps``: boundaries of the rows and
    of what the drafter is fed. ``logits``: changes [T, V]. ``draft``: changes a chain, given the tokens known before.
    """

    steps: int = 3
    seen: Callable[[Tokens], Tokens] = lambda tokens: tokens
    taps: tuple[int, ...] = ()
    logits: Callable[[Array], Array] = lambda logits: logits
    draft: Callable[[list[int], int], list[int]] = lambda chain, _: chain

    @property
    def contract(self) -> Contract:
        """The contract of the embedded default."""
        return _opened()[0]

    def boundaries_tapped(self) -> tuple[int, ...]:
        """Give the boundaries of the planes, in order."""
        return self.taps or tuple(plane.boundary for plane in self.contract.input_planes())

    def decode(self, prompt: Tokens, new_tokens: int) -> Decoded:
        """Answer one request; the same request is computed once, and its arrays are shared: none can be written."""
        return _decode(self, prompt, new_tokens)

    def planes(self, boundaries: Array) -> Array:
        """Give the rows [T, planes x H] of boundaries [n + 1, T, H]."""
        return np.concatenate([boundaries[at] for at in self.boundaries_tapped()], axis=-1)


@lru_cache(maxsize=64)
def _decode(engine: Engine, prompt: Tokens, new_tokens: int) -> Decoded:
    text = list(prompt)
    while len(text) < len(prompt) + new_tokens + engine.steps:
        text.append(int(engine.logits(_last_logits(engine.seen(tuple(text))))[-1].argmax()))
    whole = _states(engine.seen(tuple(text)))
    rows = len(prompt) + new_tokens
    return Decoded(
        prompt,
        tuple(text[len(prompt) : rows]),
        _lock(whole.boundaries[:, :rows]),
        _lock(whole.final[:rows]),
        _lock(engine.logits(whole.logits)[:rows]),
        tuple(_rounds(engine, text, len(prompt), new_tokens, engine.planes(whole.boundaries))),
    )


def _lock(array: Array) -> Array:
    array.flags.writeable = False
    return array


def _rounds(engine: Engine, text: list[int], prompt: int, new_tokens: int, planes: Array) -> list[int]:
    """Draft and verify as an engine does; the last round counts all that it accepts."""
    import torch

    session = DraftSession(_opened()[2])
    rows, tokens = torch.from_numpy(np.ascontiguousarray(planes, np.float32)), torch.tensor(text)
    taken, known, accepted = 0, prompt + 1, list[int]()
    while engine.steps and known < prompt + new_tokens:
        chain = _draft(engine, session, rows[taken : known - 1], tokens[taken + 1 : known], known)
        taken = known - 1
        right = 0
        while right < len(chain) and chain[right] == text[known + right]:
            right += 1
        accepted.append(right)
        known += right + 1
    return accepted


def _draft(engine: Engine, session: DraftSession, rows: Tensor, tokens: Tensor, known: int) -> list[int]:
    import torch

    with torch.inference_mode():
        session.extend(rows, tokens)
        chain = session.draft(engine.steps).tokens.tolist()
    return engine.draft(chain, known)
