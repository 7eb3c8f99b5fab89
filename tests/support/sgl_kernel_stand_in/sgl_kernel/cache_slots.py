"""Stand-in: EAGLE's bookkeeping of cache slots.

``req_to_token`` [requests, pool_len] says in which slot of the key-value cache each position of each request lies.
All operations write into what they are given, as those of ``sgl_kernel`` do.
"""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor


def _spans(starts: Tensor, ends: Tensor) -> tuple[Tensor, Tensor]:
    """List the positions of the spans [start, end), one span after another: of each its row, and itself."""
    lengths = (ends - starts).long()
    rows = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    before = lengths.cumsum(0) - lengths
    return rows, torch.arange(len(rows)) - before[rows] + starts.long()[rows]


def assign_req_to_token_pool_cpu(
    req_pool_indices: Tensor, req_to_token: Tensor, start_offset: Tensor, end_offset: Tensor,
    out_cache_loc: Tensor, pool_len: int,
) -> None:  # fmt: skip
    """Write new slots into the table: of request i those of the positions ``start_offset[i]`` to ``end_offset[i]``.

    Called by ``srt/mem_cache/allocation.py`` (0.5.20 to 0.5.23).
    """
    del pool_len
    rows, positions = _spans(start_offset, end_offset)
    req_to_token[req_pool_indices.long()[rows], positions] = out_cache_loc[: len(rows)].to(req_to_token.dtype)


def assign_extend_cache_locs_cpu(
    req_pool_indices: Tensor, req_to_token: Tensor, start_offset: Tensor, end_offset: Tensor,
    out_cache_loc: Tensor, pool_len: int,
) -> None:  # fmt: skip
    """Read slots from the table, request after request: those of ``start_offset[i]`` to ``end_offset[i]``.

    Called by ``srt/speculative/spec_utils.py`` (0.5.20, 0.5.22), ``kernels/ops/speculative/cache_locs.py`` (0.5.23).
    """
    del pool_len
    rows, positions = _spans(start_offset, end_offset)
    slots = req_to_token[req_pool_indices.long()[rows], positions]
    out_cache_loc[: len(rows)] = slots.to(out_cache_loc.dtype)


def assign_draft_cache_locs_contiguous_cpu(
    req_pool_indices: Tensor, req_to_token: Tensor, seq_lens: Tensor, out_cache_loc: Tensor,
    pool_len: int, topk: int, num_steps: int,
) -> None:  # fmt: skip
    """Read the ``topk * num_steps`` slots that follow each request's committed tokens: where the drafter writes.

    Called by ``srt/speculative/eagle_worker_common.py`` (0.5.20, 0.5.22), ``kernels/ops/speculative/cache_locs.py``
    (0.5.23).
    """
    assign_extend_cache_locs_cpu(
        req_pool_indices, req_to_token, seq_lens, seq_lens + topk * num_steps, out_cache_loc, pool_len
    )


def build_draft_decode_metadata_cpu(
    req_to_token: Tensor, req_pool_indices: Tensor, seq_lens: Tensor, topk: int, num_steps: int, pool_len: int
) -> Tensor:
    """Give one table row for each candidate: its request's committed slots, then the candidate's own draft slots.

    The drafter's slots lie candidate after candidate, ``num_steps`` for each. What follows them in a row is never
    read: the lengths that go with the table end at the candidate's last token. Called by
    ``srt/layers/attention/intel_amx_backend.py`` (0.5.20 to 0.5.23).
    """
    columns = torch.arange(pool_len)
    own = torch.arange(topk)[:, None] * num_steps * (columns >= seq_lens[:, None, None])
    source = (columns + own).clamp_(max=pool_len - 1).flatten(0, 1)
    rows = req_to_token[req_pool_indices.long()].repeat_interleave(topk, 0)
    return rows.gather(1, source)


def fill_accept_out_cache_loc_cpu(accept_index: Tensor, out_cache_loc: Tensor, accept_out_cache_loc: Tensor) -> None:
    """Pack the slots of the accepted draft tokens; -1 in ``accept_index`` stands for none.

    Called by ``kernels/ops/speculative/eagle.py`` (0.5.20 to 0.5.23).
    """
    accepted = accept_index[accept_index >= 0].long()
    accept_out_cache_loc[: len(accepted)] = out_cache_loc[accepted].to(accept_out_cache_loc.dtype)


def copy_all_layer_kv_cache_cpu(data_ptrs: Tensor, strides: Tensor, tgt_loc: Tensor, src_loc: Tensor) -> None:
    """Move rows of every layer's cache from slot to slot, all read before any is written.

    ``data_ptrs``: the address of slot 0 of each buffer; ``strides``: bytes of one row of it. Called by
    ``kernels/ops/kvcache/cache_move.py`` (0.5.20 to 0.5.23) when a tree's accepted path is made contiguous.
    """
    if not len(tgt_loc):
        return
    slots = int(torch.maximum(tgt_loc, src_loc).max()) + 1
    for address, width in zip(data_ptrs.tolist(), strides.tolist(), strict=True):
        memory = (ctypes.c_uint8 * (slots * width)).from_address(address)
        rows = torch.frombuffer(memory, dtype=torch.uint8).view(slots, width)
        rows[tgt_loc.long()] = rows[src_loc.long()]
