"""The stand-in's trees, against a brute-force relation of ancestors and a loop over all paths."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product

import pytest
import torch
from torch import Tensor

from support.sgl_kernel_stand_in import sgl_kernel

FULL_MASK, QLEN_ONLY, BIT_PACKED = 0, 1, 2
SHAPES = [(1, 3, 4), (2, 3, 6), (2, 3, 11), (4, 2, 8), (4, 4, 16), (3, 1, 4)]


@dataclass(frozen=True)
class Drawn:
    """A drafter's tree for one request: which candidates were kept, and the numbers of the parents."""

    topk: int
    kept: list[int]
    parents: list[int]

    def parent(self, node: int) -> int:
        """Give a node's parent, by the definition of the numbers: 0 is the root, i + 1 the candidate ``kept[i]``."""
        entry = self.kept[node - 1] // self.topk
        return 0 if entry == 0 else self.kept.index(self.parents[entry]) + 1


def draw(topk: int, steps: int, nodes: int, seed: int) -> Drawn:
    """Draw a tree as EAGLE does: topk of each of the topk best of the step before; the best of all are kept.

    A candidate is never better than its parent, so whoever is kept has all its ancestors kept.
    """
    made = torch.Generator().manual_seed(seed)
    scores, parents = torch.rand(topk, generator=made).sort(descending=True).values.tolist(), [-1]
    frontier = list(range(topk))
    for _ in range(1, steps):
        parents += frontier
        first = len(scores)
        for mother in frontier:
            shares = torch.rand(topk, generator=made).mul(0.98).add(0.01).tolist()
            scores += [scores[mother] * share for share in shares]
        frontier = sorted(range(first, len(scores)), key=lambda number: -scores[number])[:topk]
    kept = sorted(sorted(range(len(scores)), key=lambda number: -scores[number])[: nodes - 1])
    return Drawn(topk, kept, parents)


@dataclass
class Built:
    """What the operation writes."""

    mask: Tensor
    positions: Tensor
    index: Tensor
    child: Tensor
    sibling: Tensor


def build(trees: list[Drawn], lengths: list[int], steps: int, mode: int) -> Built:
    count, nodes = len(trees), len(trees[0].kept) + 1
    links = [torch.full((count, nodes), -1) for _ in range(3)]
    columns = sum(length + nodes for length in lengths) if mode == FULL_MASK else count * nodes
    built = Built(torch.ones(nodes * columns, dtype=torch.bool), torch.empty(count * nodes, dtype=torch.int64), *links)
    parents = torch.tensor([tree.parents for tree in trees]) if steps > 1 else torch.empty((count, 0))
    sgl_kernel.build_tree_kernel_efficient_cpu(
        *(parents, torch.tensor([tree.kept for tree in trees]), torch.tensor(lengths)),
        *(built.mask, built.positions, built.index, built.child, built.sibling),
        *(trees[0].topk, steps, nodes, mode),
    )
    return built


def ancestors(tree: Drawn) -> Tensor:
    """Close the relation of parents by squaring its matrix: [i, j] whether j is i or lies above it."""
    nodes = len(tree.kept) + 1
    relation = torch.eye(nodes)
    for node in range(1, nodes):
        relation[node, tree.parent(node)] = 1
    for _ in range(nodes):
        relation = (relation @ relation).clamp(max=1)
    return relation.bool()


@pytest.mark.parametrize(("topk", "steps", "nodes"), SHAPES)
@pytest.mark.parametrize("mode", [FULL_MASK, QLEN_ONLY])
def test_a_token_sees_its_ancestors_itself_and_what_is_committed(topk: int, steps: int, nodes: int, mode: int) -> None:
    trees, lengths = [draw(topk, steps, nodes, seed) for seed in range(4)], [7, 1, 12, 0]
    built, begin = build(trees, lengths, steps, mode), 0
    for tree, length in zip(trees, lengths, strict=True):
        prefix = length if mode == FULL_MASK else 0
        block = built.mask[begin : begin + nodes * (prefix + nodes)].view(nodes, prefix + nodes)
        begin += block.numel()
        assert block[:, :prefix].all()
        assert torch.equal(block[:, prefix:], ancestors(tree))
    assert begin == built.mask.numel()


@pytest.mark.parametrize(("topk", "steps", "nodes"), SHAPES)
def test_a_position_is_the_number_of_tokens_above(topk: int, steps: int, nodes: int) -> None:
    trees, lengths = [draw(topk, steps, nodes, seed) for seed in range(4)], [7, 1, 12, 0]
    built = build(trees, lengths, steps, QLEN_ONLY)
    above = [
        length + int(row.sum()) - 1 for tree, length in zip(trees, lengths, strict=True) for row in ancestors(tree)
    ]
    assert built.positions.tolist() == above
    assert built.index.flatten().tolist() == list(range(len(trees) * nodes))


@pytest.mark.parametrize(("topk", "steps", "nodes"), SHAPES)
def test_the_links_lead_to_every_child_once(topk: int, steps: int, nodes: int) -> None:
    trees = [draw(topk, steps, nodes, seed) for seed in range(4)]
    built = build(trees, [3] * 4, steps, QLEN_ONLY)
    for row, tree in enumerate(trees):
        for node in range(nodes):
            reached, child = [], int(built.child[row, node])
            while child != -1:
                reached.append(child)
                child = int(built.sibling[row, child])
            assert reached == [other for other in range(1, nodes) if tree.parent(other) == node]


def test_a_candidate_without_its_parent_is_never_reached() -> None:
    tree = Drawn(topk=2, kept=[0, 4], parents=[-1, 0, 1])
    assert tree.kept[1] // 2 == 2
    built = build([tree], [5], steps=2, mode=QLEN_ONLY)
    assert built.child.tolist() == [[1, -1, -1]]
    assert built.sibling.tolist() == [[-1, -1, -1]]


def test_packed_bits_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="tree mask mode 2"):
        build([draw(2, 2, 4, 0)], [3], 2, BIT_PACKED)


def longest_agreed_path(tree: Drawn, tokens: list[int], wanted: list[int], limit: int) -> list[int]:
    """Try every node: its path counts if each step is the token that the target wants at the step before."""
    best = [0]
    for node in range(len(tokens)):
        path = [node]
        while path[0]:
            path.insert(0, tree.parent(path[0]))
        agreed = all(tokens[after] == wanted[before] for before, after in pairwise(path))
        if agreed and len(best) < len(path) <= limit:
            best = path
    return best


@pytest.mark.parametrize(("topk", "steps", "nodes"), SHAPES)
@pytest.mark.parametrize("width", ["all steps", "one step"])
def test_verification_takes_the_longest_path_that_the_target_agrees_with(
    topk: int, steps: int, nodes: int, width: str
) -> None:
    count = 24
    made = torch.Generator().manual_seed(nodes)
    trees = [draw(topk, steps, nodes, seed) for seed in range(count)]
    built = build(trees, [3] * count, steps, QLEN_ONLY)
    candidates = torch.stack([tokens_of(tree, made) for tree in trees])
    wanted = torch.randint(0, topk + 1, (count, nodes), generator=made)
    limit = steps + 1 if width == "all steps" else 2
    predicts = torch.full((count * nodes,), -9, dtype=torch.int32)
    accepted, number = torch.full((count, limit), -1, dtype=torch.int32), torch.full((count,), -9, dtype=torch.int32)
    sgl_kernel.verify_tree_greedy_cpu(
        predicts=predicts,
        accept_index=accepted,
        accept_token_num=number,
        candidates=candidates,
        retrive_index=built.index,
        retrive_next_token=built.child,
        retrive_next_sibling=built.sibling,
        target_predict=wanted,
    )
    lengths = set()
    for row, tree in enumerate(trees):
        path = longest_agreed_path(tree, candidates[row].tolist(), wanted[row].tolist(), limit)
        lengths.add(len(path))
        places = [row * nodes + node for node in path]
        assert accepted[row].tolist() == [*places, *[-1] * (limit - len(path))]
        assert int(number[row]) == len(path) - 1
        assert predicts[places].tolist() == wanted[row, path].tolist()
        assert set(predicts[row * nodes : (row + 1) * nodes].tolist()) <= {-9, *wanted[row, path].tolist()}
    assert len(lengths) > 1, "all trees were accepted to the same depth: nothing was told apart"


def tokens_of(tree: Drawn, made: torch.Generator) -> Tensor:
    """Give every node a token; siblings differ, as the topk of one distribution do."""
    order = {parent: torch.randperm(tree.topk + 1, generator=made).tolist() for parent in range(len(tree.kept) + 1)}
    return torch.tensor([0, *(order[tree.parent(node)].pop() for node in range(1, len(tree.kept) + 1))])


@pytest.mark.parametrize(("count", "stride"), list(product((1, 3), (1, 4))))
def test_the_bonus_is_the_last_accepted_token(count: int, stride: int) -> None:
    tokens = torch.arange(100, 100 + count * stride).view(count, stride)
    lengths = torch.tensor([1, stride, 1][:count])
    bonus = torch.full((count,), -7, dtype=torch.int32)
    sgl_kernel.fill_bonus_tokens_cpu(tokens, lengths, bonus, stride)
    assert bonus.tolist() == [int(tokens[row, length - 1]) for row, length in enumerate(lengths.tolist())]
