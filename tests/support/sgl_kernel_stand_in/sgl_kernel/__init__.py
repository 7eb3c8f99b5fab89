"""A STAND-IN for the CPU build of ``sgl_kernel``, in plain PyTorch. It is not SGLang's code.

SGLang imports ``sgl_kernel`` on a CPU without asking, and PyPI has its CUDA build alone. What is here is enough to
serve a model with EAGLE-3 on a CPU with SGLang 0.5.20, 0.5.22 and 0.5.23: the integer operations of EAGLE
(``cache_slots``, ``trees``) and the two attention operations of the ``intel_amx`` backend (``attention``).
Model code, capture of hidden states, draft worker, scheduler and HTTP are SGLang's own. Whoever reports a result from
such a server says so; speed means nothing here.

Every other name that ends in ``_cpu`` can be imported, since modules that are never used import it, and refuses to be
called. No other name exists: SGLang asks for ``torch.ops.sgl_kernel.convert_weight_packed`` to see whether its CPU
kernels are there (``srt/utils/common.py``), must not find it, and keeps PyTorch's own operations everywhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch

from .attention import decode_attention_cpu, extend_attention_cpu
from .cache_slots import (
    assign_draft_cache_locs_contiguous_cpu,
    assign_extend_cache_locs_cpu,
    assign_req_to_token_pool_cpu,
    build_draft_decode_metadata_cpu,
    copy_all_layer_kv_cache_cpu,
    fill_accept_out_cache_loc_cpu,
)
from .trees import build_tree_kernel_efficient_cpu, fill_bonus_tokens_cpu, verify_tree_greedy_cpu

__version__ = "0+stand.in"

__all__ = [
    "assign_draft_cache_locs_contiguous_cpu",
    "assign_extend_cache_locs_cpu",
    "assign_req_to_token_pool_cpu",
    "build_draft_decode_metadata_cpu",
    "build_tree_kernel_efficient_cpu",
    "copy_all_layer_kv_cache_cpu",
    "decode_attention_cpu",
    "extend_attention_cpu",
    "fill_accept_out_cache_loc_cpu",
    "fill_bonus_tokens_cpu",
    "verify_tree_greedy_cpu",
]


def __getattr__(name: str) -> Callable[..., NoReturn]:
    if not name.endswith("_cpu"):
        raise AttributeError(f"the stand-in for sgl_kernel has no {name!r}")

    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise NotImplementedError(f"sgl_kernel.{name} is not part of this stand-in")

    return refuse


# srt/layers/attention/intel_amx_backend.py takes these two from torch's namespace of operations. They are put there as
# plain functions: they are called eagerly, and need neither a schema nor a dispatcher.
torch.ops.sgl_kernel.decode_attention_cpu = decode_attention_cpu
torch.ops.sgl_kernel.extend_attention_cpu = extend_attention_cpu
