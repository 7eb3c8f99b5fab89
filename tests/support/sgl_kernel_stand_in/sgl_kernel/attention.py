"""Stand-in: the two attention operations of SGLang's ``intel_amx`` backend, computed in float32.

Called by ``srt/layers/attention/intel_amx_backend.py`` (0.5.20 to 0.5.23), the only backend of the CPU with which
EAGLE drafts. What a Llama does not need is refused, never ignored: sliding windows, capped logits, cross attention,
sinks, and caches in 8 bits.
"""

# ruff: noqa: FBT001, PLR0917 - the lists of parameters are those of sgl_kernel, and SGLang passes them by position

from __future__ import annotations

import torch
from torch import Tensor


def extend_attention_cpu(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, k_buffer: Tensor, v_buffer: Tensor, k_scale: float, v_scale: float,
    req_to_token: Tensor, req_pool_indices: Tensor, seq_lens: Tensor, extend_seq_lens: Tensor,
    extend_start_loc: Tensor, max_len_extend: int, sm_scale: float, logit_cap: float, is_cross_attn: bool,
    sliding_window: int, encoder_lens: Tensor | None, sinks: Tensor | None, tree_mask: Tensor | None, is_causal: bool,
) -> None:  # fmt: skip
    """Attend from each request's last ``extend_seq_lens`` tokens, whose keys and values are in the cache already.

    ``q``, ``o`` [tokens, heads, dim]. ``tree_mask``: of one request after another [extend, extend], which of the new
    tokens sees which; without it a token sees those before it and itself.
    """
    del k, v, max_len_extend, encoder_lens
    _refuse(logit_cap, sliding_window, sinks, k_scale, v_scale, cross=is_cross_attn)
    begin = 0
    spans = zip(seq_lens.tolist(), extend_seq_lens.tolist(), extend_start_loc.tolist(), strict=True)
    for request, (length, new, start) in zip(req_pool_indices.tolist(), spans, strict=True):
        slots = req_to_token[request, :length].long()
        sees = torch.ones((new, length), dtype=torch.bool)
        if tree_mask is not None:
            sees[:, length - new :] = tree_mask.view(-1)[begin : begin + new * new].view(new, new)
            begin += new * new
        elif is_causal:
            sees.tril_(length - new)
        rows = slice(start, start + new)
        o[rows] = _attend(q[rows], k_buffer[slots], v_buffer[slots], sm_scale, sees).to(o.dtype)


def decode_attention_cpu(
    q: Tensor, k_buffer: Tensor, v_buffer: Tensor, k_scale: float, v_scale: float, o: Tensor, k: Tensor | None,
    v: Tensor | None, loc: Tensor, attn_logits: Tensor, req_to_token: Tensor, req_pool_indices: Tensor,
    seq_lens: Tensor, sm_scale: float, logit_cap: float, is_cross_attn: bool, sliding_window: int,
    encoder_lens: Tensor | None, sinks: Tensor | None,
) -> None:  # fmt: skip
    """Put each request's newest key and value into the cache, then attend from it to all of its tokens.

    ``q``, ``o`` [requests, heads, dim]; ``loc`` [requests]: the slots of the newest tokens.
    """
    del attn_logits, encoder_lens
    _refuse(logit_cap, sliding_window, sinks, k_scale, v_scale, cross=is_cross_attn)
    for new, buffer in ((k, k_buffer), (v, v_buffer)):
        if new is not None:
            buffer[loc.long()] = new.view(-1, *buffer.shape[1:]).to(buffer.dtype)
    for row, (request, length) in enumerate(zip(req_pool_indices.tolist(), seq_lens.tolist(), strict=True)):
        slots = req_to_token[request, :length].long()
        o[row] = _attend(q[row : row + 1], k_buffer[slots], v_buffer[slots], sm_scale)[0].to(o.dtype)


def _attend(queries: Tensor, keys: Tensor, values: Tensor, scale: float, sees: Tensor | None = None) -> Tensor:
    """Attend with heads that share keys in groups: [t, heads, dim] to [s, kv heads, dim]; ``sees`` [t, s]."""
    groups = (queries.shape[0], keys.shape[1], -1, queries.shape[2])
    scores = torch.einsum("tkgd,skd->kgts", queries.float().reshape(groups), keys.float()) * scale
    if sees is not None:
        scores.masked_fill_(~sees, float("-inf"))
    mixed = torch.einsum("kgts,skd->tkgd", scores.softmax(-1), values.float())
    return mixed.reshape(*queries.shape[:2], values.shape[2])


def _refuse(
    logit_cap: float, sliding_window: int, sinks: Tensor | None, k_scale: float, v_scale: float, *, cross: bool
) -> None:
    asked = {
        "capped logits": logit_cap > 0,
        "a sliding window": sliding_window > 0,
        "sinks": sinks is not None,
        "a scaled cache": (k_scale, v_scale) != (1.0, 1.0),
        "cross attention": cross,
    }
    for name, wanted in asked.items():
        if wanted:
            raise NotImplementedError(f"attention with {name} is not part of this stand-in for sgl_kernel")
