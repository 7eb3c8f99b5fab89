"""Accept length by offline simulation: exact where the text is what the target itself generated greedily.

The drafter's keys and values after a round are those of the accepted text alone (an engine recomputes them from the
target's states), so what is drafted after row t depends on the text up to there and nothing else: all rows are
drafted at once, and the rounds are walked over them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from eagle3_contracts.accuracy.passages import Passage
from eagle3_contracts.drafter import Front, ReferenceDrafter

if TYPE_CHECKING:
    from torch import Tensor


class Tree(NamedTuple):
    """Nodes of a tree: the target's token ids, parents (-1: the root), and joint log-probabilities."""

    tokens: Tensor
    parents: Tensor
    joint: Tensor


@dataclass(frozen=True, slots=True)
class AcceptLength:
    """What a simulation came to. ``accepted``: how many rounds accepted 0, 1, ... drafted tokens.

    ``greedy_share``: share of rows at which the text is the target's own choice; the simulation is exact at 1.0.
    None where the target's choices are not known: the text is then taken for what the target emits.
    """

    accepted: tuple[int, ...]
    greedy_share: float | None

    @property
    def rounds(self) -> int:
        """How many rounds of drafting and verification there were."""
        return sum(self.accepted)

    @property
    def length(self) -> float:
        """Tokens per round, the target's own one included (what engines report as accept length)."""
        return 1 + sum(count * rounds for count, rounds in enumerate(self.accepted)) / self.rounds


def simulate_chain(drafter: ReferenceDrafter, passages: Iterable[Passage], steps: int, start: int = 0) -> AcceptLength:
    """Simulate greedy drafting of ``steps`` tokens in a row; with the target's token, steps + 1 are verified.

    ``start``: the row of the first round, behind a prompt. Rounds that the end of the passage would cut are left
    out. ``ValueError`` if there is no round at all.
    """
    return _simulate(passages, lambda passage: accept_chains(drafter, passage, steps), steps, start)


def simulate_tree(
    drafter: ReferenceDrafter,
    passages: Iterable[Passage],
    *,
    steps: int,
    topk: int,
    draft_tokens: int,
    start: int = 0,
) -> AcceptLength:
    """Simulate a dynamic tree with greedy verification, as EAGLE-2 and SGLang grow it.

    ``topk`` candidates of each of ``topk`` nodes for ``steps`` levels; of all of them the ``draft_tokens - 1`` with
    the highest joint probability are verified, beside the token that the target gave (SGLang's
    speculative-num-draft-tokens counts that one).
    """

    def accept(passage: Passage) -> list[int]:
        return accept_trees(drafter, passage, steps=steps, topk=topk, draft_tokens=draft_tokens)

    return _simulate(passages, accept, steps, start)


def accept_chains(drafter: ReferenceDrafter, passage: Passage, steps: int) -> list[int]:
    """Give for every row but the last how many tokens of a chain of ``steps`` the text confirms."""
    drafted = draft_chains(drafter, passage, steps)
    return [_common(row.tolist(), passage.tokens[at + 2 :].tolist()) for at, row in enumerate(drafted)]


def accept_trees(drafter: ReferenceDrafter, passage: Passage, *, steps: int, topk: int, draft_tokens: int) -> list[int]:
    """Give the same for a dynamic tree, of which the ``draft_tokens - 1`` best nodes are verified."""
    tree = grow_trees(drafter, passage, steps, topk)
    return [
        _descend(Tree(*(part[at] for part in tree)), draft_tokens - 1, passage.tokens[at + 2 :].tolist())
        for at in range(len(passage.tokens) - 1)
    ]


def draft_chains(drafter: ReferenceDrafter, passage: Passage, steps: int) -> Tensor:
    """Give what would be drafted after every row, [T - 1, steps] token ids of the target."""
    import torch

    ids, drafted = drafter.target_ids(), []
    with torch.inference_mode():
        front = drafter.begin(passage.fc_input[:-1], passage.tokens[1:])
        for step in range(steps):
            drafted.append(ids[front.logits.argmax(-1)])
            if step + 1 < steps:
                front = drafter.advance(front, drafted[-1], window_moves=True)
    return torch.stack(drafted, dim=-1)


def grow_trees(drafter: ReferenceDrafter, passage: Passage, steps: int, topk: int) -> Tree:
    """Grow a tree after every row, all parts [T - 1, topk + (steps - 1) x topk²]."""
    import torch

    ids, rows = drafter.target_ids(), len(passage.tokens) - 1
    with torch.inference_mode():
        front = drafter.begin(passage.fc_input[:-1], passage.tokens[1:])
        scores, chosen = front.logits.log_softmax(-1).topk(topk, dim=-1)
        tokens, parents, joint = [ids[chosen]], [torch.full((rows, topk), -1)], [scores]
        front = front.select(torch.arange(rows).repeat_interleave(topk))
        nodes, beam = torch.arange(topk).expand(rows, topk), tokens[0]
        for level in range(1, steps):
            front = drafter.advance(front, beam.flatten(), window_moves=True)
            wide, best = _expand(front, scores, topk)
            first = topk + (level - 1) * topk * topk
            tokens.append(ids[best])
            parents.append(nodes.repeat_interleave(topk, dim=-1))
            joint.append(wide)
            scores, kept = wide.topk(topk, dim=-1)
            nodes, beam = first + kept, ids[best].gather(-1, kept)
            front = front.select((torch.arange(rows)[:, None] * topk + kept // topk).flatten())
    return Tree(*(torch.cat(parts, dim=-1) for parts in (tokens, parents, joint)))


def _expand(front: Front, scores: Tensor, topk: int) -> tuple[Tensor, Tensor]:
    """Give joint scores and draft ids of the children of all nodes of a level, [rows, topk²]."""
    own, best = front.logits.log_softmax(-1).topk(topk, dim=-1)
    rows = len(scores)
    return (scores[..., None] + own.view(rows, topk, topk)).flatten(1), best.view(rows, topk * topk)


def _descend(tree: Tree, count: int, text: Sequence[int]) -> int:
    """Count the drafted tokens that follow the text, from the root down, among the ``count`` best nodes."""
    tokens, parents, joint = (part.tolist() for part in tree)
    kept = sorted(range(len(tokens)), key=lambda node: (-joint[node], node))[:count]
    node, depth = -1, 0
    for token in text:
        found = next((other for other in kept if parents[other] == node and tokens[other] == token), None)
        if found is None:
            break
        node, depth = found, depth + 1
    return depth


def _simulate(
    passages: Iterable[Passage], accept: Callable[[Passage], list[int]], steps: int, start: int
) -> AcceptLength:
    counts, greedy, rows = [0] * (steps + 1), 0, 0
    known = True
    for passage in passages:
        if len(passage.tokens) < 3:
            continue
        accepted = accept(passage)
        row = start
        while row + 2 + steps <= len(passage.tokens):
            counts[accepted[row]] += 1
            row += accepted[row] + 1
        if passage.choices is None:
            known = False
        else:
            same = passage.choices[start + 1 : -1] == passage.tokens[start + 2 :]
            greedy, rows = greedy + int(same.sum()), rows + len(same)
    if not sum(counts):
        raise ValueError(f"no passage is long enough for one round of {steps} drafted tokens")
    return AcceptLength(tuple(counts), greedy / rows if known else None)


def _common(drafted: Sequence[int], text: Sequence[int]) -> int:
    for count, (one, other) in enumerate(zip(drafted, text, strict=False)):
        if one != other:
            return count
    return min(len(drafted), len(text))
