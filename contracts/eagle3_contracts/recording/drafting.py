"""Train a drafter on a target's states with the reference drafter: small, on the CPU, and the same from the same seed.

The loss is the trainers' own: at every step the cross entropy with the target's distribution over the draft
vocabulary, where the target's first choice is in it, each later step weighed less (specforge 0.2.0,
core/eagle3.py).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import ReferenceDrafter, expected_tensors
from eagle3_contracts.drafter.shapes import INTEGER_TENSORS

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class DraftRecipe:
    """How a drafter is trained; every number that changes its weights. ``batch``: sequences packed into one pass."""

    seed: int = 1
    updates: int = 3000
    batch: int = 6
    rate: float = 3e-3
    warmup: int = 50
    steps: int = 3
    later_step_weight: float = 0.8


@dataclass(frozen=True, slots=True)
class Lesson:
    """One sequence to learn from: ``tokens`` [T], ``fc_input`` [T, P x Ht], ``logits`` [T, V] to imitate.

    All three as captured, row t at token t: that row t is paired with the token and the logits after it is the
    trainer's doing.
    """

    tokens: Tensor
    fc_input: Tensor
    logits: Tensor


def train_drafter(
    contract: Contract,
    lessons: Sequence[Lesson],
    recipe: DraftRecipe,
    embedding: Tensor,
    *,
    pinned: Collection[int] = (),
) -> dict[str, Tensor]:
    """Train from random weights; give every tensor of the contract by canonical name, float32 and int64.

    ``lessons``: of one length. ``embedding`` [V, H]: the target's, frozen. The draft vocabulary is ``pinned`` and the
    tokens that the lessons' logits choose most often, so that few first choices fall outside it.
    """
    import torch

    draw = torch.Generator().manual_seed(recipe.seed)
    weights = initial_weights(contract, draw)
    weights["embed_tokens.weight"] = embedding.float()
    if "d2t" in weights:
        weights["d2t"] = choose_draft_vocabulary(contract, lessons, pinned)
    trained = [
        tensor.requires_grad_()
        for name, tensor in weights.items()
        if name not in INTEGER_TENSORS and name != "embed_tokens.weight"
    ]
    drafter = ReferenceDrafter(contract, weights)
    optimizer = torch.optim.AdamW(trained, lr=recipe.rate, weight_decay=0.01, betas=(0.9, 0.95))
    for update in range(recipe.updates):
        share = min(1.0, (update + 1) / recipe.warmup) * 0.5 * (1 + math.cos(math.pi * update / recipe.updates))
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate * share
        chosen = torch.randint(0, len(lessons), (recipe.batch,), generator=draw)
        optimizer.zero_grad()
        drafting_loss(drafter, [lessons[int(index)] for index in chosen], recipe).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
    return {name: tensor.detach() for name, tensor in weights.items()}


def initial_weights(contract: Contract, draw: object) -> dict[str, Tensor]:
    """Draw weights: matrices scaled by fan-in, norms log-normal around 1, so that a missed or swapped norm shows."""
    import torch

    assert isinstance(draw, torch.Generator)  # noqa: S101 (for the type checker)
    weights: dict[str, Tensor] = {}
    for name, (shape, _) in expected_tensors(contract).items():
        if name in INTEGER_TENSORS:
            weights[name] = torch.zeros(shape, dtype=torch.int64)
        elif len(shape) == 1:
            weights[name] = torch.exp(0.2 * torch.randn(shape, generator=draw))
        else:
            weights[name] = torch.randn(shape, generator=draw) * shape[-1] ** -0.5
    return weights


def choose_draft_vocabulary(contract: Contract, lessons: Sequence[Lesson], pinned: Collection[int] = ()) -> Tensor:
    """Give d2t for ``pinned`` and the tokens that the target chooses most often, in rising order.

    Pin the ends of text: seldom the most likely token, they can never be drafted unless d2t leads to them
    (``checkpoint.special-tokens``).
    """
    import torch

    size = contract.drafter.draft_vocab_size
    counts = torch.zeros(contract.target.vocab_size, dtype=torch.int64)
    for lesson in lessons:
        counts += torch.bincount(lesson.logits.argmax(-1), minlength=len(counts))
    counts[list(pinned)] = counts.sum() + 1
    ids = torch.sort(counts, descending=True, stable=True).indices[:size].sort().values
    return ids if contract.drafter.d2t == "absolute" else ids - torch.arange(size)


def drafting_loss(drafter: ReferenceDrafter, lessons: Sequence[Lesson], recipe: DraftRecipe) -> Tensor:
    """Give the loss of some lessons packed side by side, over all steps."""
    import torch

    shift = drafter.contract.alignment.token[0]
    rows = len(lessons[0].tokens) - shift
    documents = torch.arange(len(lessons)).repeat_interleave(rows)
    positions = torch.arange(rows).repeat(len(lessons))
    tokens = torch.cat([lesson.tokens[shift:] for lesson in lessons])
    fc_input = torch.cat([lesson.fc_input[:rows] for lesson in lessons])
    ids = drafter.target_ids()
    wanted = torch.cat([lesson.logits[shift:] for lesson in lessons])
    shares = wanted[:, ids].softmax(-1)
    reachable = torch.isin(wanted.argmax(-1), ids)
    total = torch.zeros(())
    for step, done in enumerate(drafter.forward(fc_input, tokens, positions, steps=recipe.steps, documents=documents)):
        kept = torch.nonzero(done.valid)[:, 0]
        kept = kept[reachable[kept + step]]
        likelihood = done.logits[kept].log_softmax(-1)
        total = total - recipe.later_step_weight**step * (shares[kept + step] * likelihood).sum(-1).mean()
    return total
