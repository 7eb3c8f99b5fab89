"""Stand-in: EAGLE's tree of draft tokens: who descends from whom, and which path the target agrees with.

Node 0 of a request's tree is the last token that the target wrote; nodes 1 to n-1 are drafted. In the tensors of
links -1 stands for none, and the caller has filled them with it.
"""

# ruff: noqa: PLR0917 - the lists of parameters are those of sgl_kernel, and SGLang passes them by position

from __future__ import annotations

import torch
from torch import Tensor

FULL_MASK, QLEN_ONLY = 0, 1
"""``TreeMaskMode``: a row sees the committed tokens and the tree, or the tree alone (bit packing is not stood in)."""


def build_tree_kernel_efficient_cpu(
    parent_list: Tensor, selected_index: Tensor, verified_seq_len: Tensor, tree_mask: Tensor, positions: Tensor,
    retrive_index: Tensor, retrive_next_token: Tensor, retrive_next_sibling: Tensor,
    topk: int, depth: int, draft_token_num: int, tree_mask_mode: int,
) -> None:  # fmt: skip
    """Write of each request's tree: who sees whom, the positions, and its links (first child, next sibling).

    ``selected_index`` [requests, n-1]: the candidates that were kept, by number. Candidate c was drawn after entry
    ``c // topk`` of ``parent_list``, which holds the number of its parent; entry 0 is the root's. Called by
    ``srt/speculative/eagle_utils.py`` (0.5.20, 0.5.22), ``kernels/ops/speculative/spec_tree.py`` (0.5.23).
    """
    del depth
    if tree_mask_mode not in {FULL_MASK, QLEN_ONLY}:
        raise NotImplementedError(f"tree mask mode {tree_mask_mode} is not part of this stand-in")
    nodes, begin = draft_token_num, 0
    for request, kept in enumerate(selected_index.tolist()):
        committed = int(verified_seq_len[request])
        parents = _parents(kept, parent_list[request].tolist() if parent_list.numel() else [], topk)
        paths = [_path(parents, node) for node in range(nodes)]
        sees = torch.zeros((nodes, nodes), dtype=tree_mask.dtype)
        for node, path in enumerate(paths):
            sees[node, path] = 1
        prefix = committed if tree_mask_mode == FULL_MASK else 0
        end = begin + nodes * (prefix + nodes)
        tree_mask.view(-1)[begin:end].view(nodes, prefix + nodes)[:, prefix:] = sees
        begin = end
        first = request * nodes
        positions.view(-1)[first : first + nodes] = torch.tensor([committed + len(path) - 1 for path in paths])
        retrive_index[request] = torch.arange(first, first + nodes)
        _link(parents, retrive_next_token[request], retrive_next_sibling[request])


def _parents(kept: list[int], parent_list: list[int], topk: int) -> list[int | None]:
    """Give the parent of every node: None for the root, and for a candidate whose parent was not kept."""
    node_of = {candidate: node for node, candidate in enumerate(kept, start=1)}
    drawn_after = [candidate // topk for candidate in kept]
    return [None, *(0 if entry == 0 else node_of.get(parent_list[entry]) for entry in drawn_after)]


def _path(parents: list[int | None], node: int) -> list[int]:
    """List a node and its ancestors, up to the root; an orphan hangs on the root, where nothing leads to it."""
    path = [node]
    while path[-1]:
        path.append(parents[path[-1]] or 0)
    return path


def _link(parents: list[int | None], first_child: Tensor, next_sibling: Tensor) -> None:
    youngest: dict[int, int] = {}
    for node, parent in enumerate(parents):
        if parent is None:
            continue
        if parent in youngest:
            next_sibling[youngest[parent]] = node
        else:
            first_child[parent] = node
        youngest[parent] = node


def verify_tree_greedy_cpu(
    predicts: Tensor, accept_index: Tensor, accept_token_num: Tensor, candidates: Tensor, retrive_index: Tensor,
    retrive_next_token: Tensor, retrive_next_sibling: Tensor, target_predict: Tensor,
) -> None:  # fmt: skip
    """Walk down each tree for as long as a child is the token that the target would write there.

    Writes the accepted nodes (``accept_index`` [requests, steps + 1], the root first), how many were drafted, and the
    target's token at each of them; the one at the last node is new. Called by ``srt/speculative/eagle_utils.py``
    (0.5.20, 0.5.22), ``kernels/ops/speculative/spec_tree.py`` (0.5.23).
    """
    wanted = target_predict.reshape(-1).tolist()
    places = retrive_index.tolist()
    children, siblings, drafted = retrive_next_token.tolist(), retrive_next_sibling.tolist(), candidates.tolist()
    for request in range(len(drafted)):
        accepted = [0]
        while len(accepted) < accept_index.shape[1]:
            token = wanted[places[request][accepted[-1]]]
            child = children[request][accepted[-1]]
            while child != -1 and drafted[request][child] != token:
                child = siblings[request][child]
            if child == -1:
                break
            accepted.append(child)
        at = torch.tensor([places[request][node] for node in accepted])
        accept_index[request, : len(accepted)] = at.to(accept_index.dtype)
        accept_token_num[request] = len(accepted) - 1
        predicts[at] = target_predict.reshape(-1)[at].to(predicts.dtype)


def fill_bonus_tokens_cpu(accept_tokens: Tensor, accept_lens: Tensor, bonus_tokens: Tensor, accept_stride: int) -> None:
    """Write each request's last token: number ``accept_lens - 1`` of its ``accept_stride`` places.

    Called by ``kernels/ops/speculative/eagle.py`` (0.5.20 to 0.5.23).
    """
    last = torch.arange(len(accept_lens)) * accept_stride + accept_lens.long() - 1
    bonus_tokens[: len(accept_lens)] = accept_tokens.reshape(-1)[last].to(bonus_tokens.dtype)
