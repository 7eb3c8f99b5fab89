"""A whole Llama-type target, run by this package's own forwards: torch where it is installed, else numpy."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.targets.parts import Part, PartialTarget, TokenIds, as_token_ids
from eagle3_contracts.subjects.targets.shape import LlamaShape
from eagle3_contracts.subjects.targets.tensors import TensorFiles

if TYPE_CHECKING:
    from torch import Tensor

Route = Literal["numpy", "torch"]

ARCHITECTURE = "LlamaForCausalLM"
_CACHED_PARAMETERS = 1 << 30


class LlamaTarget(PartialTarget):
    """A Llama-type target with all its weights.

    ``route``: ``torch`` computes in ``dtype``, on the GPU if there is one; ``numpy`` in float64, whatever the dtype.
    """

    def __init__(
        self, source: str, contract: Contract, files: TensorFiles, shape: LlamaShape, *, dtype: str, route: Route | None
    ) -> None:
        super().__init__(source, contract, files)
        self.shape, self.dtype = shape, dtype
        self.route: Route = route or ("torch" if find_spec("torch") else "numpy")
        self._held: dict[str, Tensor | None] = {}
        if self.route == "numpy" and dtype != "float32":
            remedy = "compute in float32, or pip install 'eagle3-contracts[torch]' for the torch route"
            raise SubjectError(source, f"computing in {dtype} needs the torch route, this is numpy's", remedy=remedy)

    @property
    def holds(self) -> frozenset[Part]:
        """Tell which parts are at hand: all."""
        return frozenset({"embedding", "norm", "head", "layers"})

    def reference(self, token_ids: TokenIds) -> ReferenceStates:
        """Run one sequence alone; raise ``ValueError`` if it is empty or an id lies outside the vocabulary."""
        tokens = as_token_ids(token_ids)
        if not len(tokens) or tokens.min() < 0 or tokens.max() >= self.shape.vocab:
            raise ValueError(f"{len(tokens)} token ids, not all of them in 0..{self.shape.vocab - 1}")
        return self._run_torch(tokens) if self.route == "torch" else self._run_numpy(tokens)

    def _run_numpy(self, tokens: Any) -> ReferenceStates:
        from eagle3_contracts.subjects.targets.llama_numpy import forward

        states = forward(self._lookup, self.shape, tokens)
        logits = states.final @ self._read(self._need("head")).T.astype(np.float64)
        narrow = (table.astype(np.float32) for table in (states.boundaries, states.final, logits, states.branches))
        return ReferenceStates(tokens, *narrow)

    def _run_torch(self, tokens: Any) -> ReferenceStates:
        import torch

        from eagle3_contracts.subjects.targets.llama_torch import forward

        device = "cuda" if torch.cuda.is_available() else "cpu"
        with torch.inference_mode():
            states = forward(self._lookup_torch, self.shape, torch.from_numpy(tokens).to(device).unsqueeze(0))
            head = self._tensor(self._need("head"))
            logits = states.final[0] @ head.T
            boundaries = np.stack([state[0].float().cpu().numpy() for state in states.boundaries])
            branches = np.stack([state[0].float().cpu().numpy() for state in states.branches])
            final = states.final[0].float().cpu().numpy()
            return ReferenceStates(tokens, boundaries, final, logits.float().cpu().numpy(), branches)

    def _lookup(self, name: str) -> Array | None:
        full = self.prefix + name
        return self._read(full) if full in self._files else None

    def _lookup_torch(self, name: str) -> Tensor | None:
        full = self.prefix + name
        return self._tensor(full) if full in self._files else None

    def _tensor(self, name: str) -> Tensor:
        """Give a weight in the dtype and on the device of the computation, kept if the whole model is small."""
        import torch

        held = self._held.get(name)
        if held is None:
            device = "cuda" if torch.cuda.is_available() else "cpu"
            held = torch.from_numpy(self._files.read(name)).to(device, getattr(torch, self.dtype))
            if self._files.parameters <= _CACHED_PARAMETERS:
                self._held[name] = held
        return held


def missing_layers(files: TensorFiles, prefix: str, shape: LlamaShape) -> list[str]:
    """List the weights of the layers that are not there, or that are quantised."""
    parts = ["input_layernorm", "post_attention_layernorm"]
    parts += [f"self_attn.{name}_proj" for name in "qkvo"] + [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    names = [f"{prefix}layers.{layer}.{part}.weight" for layer in range(shape.layers) for part in parts]
    return [name for name in names if name not in files or not files.tensors[name].floating]


def misshapen_layers(files: TensorFiles, prefix: str, shape: LlamaShape) -> list[str]:
    """Say for each weight of the layers whose shape contradicts config.json what it is and what it should be."""
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    expected = {
        "input_layernorm": (shape.hidden,),
        "post_attention_layernorm": (shape.hidden,),
        "self_attn.q_proj": (queries, shape.hidden),
        "self_attn.k_proj": (keys, shape.hidden),
        "self_attn.v_proj": (keys, shape.hidden),
        "self_attn.o_proj": (shape.hidden, queries),
        "mlp.gate_proj": (shape.intermediate, shape.hidden),
        "mlp.up_proj": (shape.intermediate, shape.hidden),
        "mlp.down_proj": (shape.hidden, shape.intermediate),
    }
    named = {f"{prefix}layers.{k}.{part}.weight": size for k in range(shape.layers) for part, size in expected.items()}
    return [
        f"{name} is {list(files.tensors[name].shape)}, expected {list(size)}"
        for name, size in named.items()
        if name in files and files.tensors[name].shape != size
    ]
