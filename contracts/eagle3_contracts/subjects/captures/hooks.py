"""The built-in capture: a transformers model with hooks on its decoder layers.

It taps what *leaves* a layer; the reference target (``targets.hf``) taps what *enters* one, so that a mistake
in either shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eagle3_contracts.subjects.captures.padding import cut_batch, pad_batch
from eagle3_contracts.subjects.captures.protocol import Captured
from eagle3_contracts.subjects.targets.hf_loading import load_model
from eagle3_contracts.subjects.targets.taps import Decoder, find_decoder, tap_inputs, tap_outputs

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract, Plane

COMPUTE_DTYPES = ("float32", "bfloat16", "float16")
"""What a model may compute in; hidden states are stored in others, but no route runs a forward in them."""


def open_transformers_capture(contract: Contract, source: str, dtype: str) -> HookedCapture:
    """Load the model in ``source`` and capture the contract's stored planes from it, computing in ``dtype``."""
    decoder = find_decoder(load_model(source, dtype), source)
    stored = contract.storage.dtype or contract.target.dtype
    return HookedCapture(decoder, contract.stored_planes(), dtype, stored)


@dataclass(frozen=True, slots=True)
class HookedCapture:
    """A capture (see ``protocol.Capture``) of ``planes`` from a transformers model, stored as ``dtype``."""

    decoder: Decoder
    planes: tuple[Plane, ...]
    compute_dtype: str
    dtype: str

    def __call__(self, batch: Sequence[Sequence[int]], /) -> list[Captured]:
        """Run the batch once, padded on the right."""
        import torch

        padded, mask = (table.to(self.decoder.device) for table in pad_batch(batch))
        seen: dict[tuple[int, str], Tensor] = {}
        with torch.no_grad(), self._taps(seen):
            self.decoder.model(input_ids=padded, attention_mask=mask, use_cache=False)
        return cut_batch(batch, [seen[plane.boundary, plane.state] for plane in self.planes], self.dtype)

    def _taps(self, seen: dict[tuple[int, str], Tensor]) -> ExitStack:
        """Hook what the planes need: boundary 0 enters the first layer, boundary k leaves layer k - 1."""
        layers, norm = self.decoder.layers, self.decoder.norm
        taps = [(plane.boundary, plane.state) for plane in self.planes]
        normed = [key for key in taps if key[1] == "post_norm"]
        entering = [key for key in taps if key[0] == 0]
        leaving = [key for key in taps if key not in normed + entering]
        stack = ExitStack()
        stack.enter_context(tap_inputs(dict.fromkeys(entering, layers[0]), seen.__setitem__))
        stack.enter_context(tap_outputs({key: layers[key[0] - 1] for key in leaving}, seen.__setitem__))
        stack.enter_context(tap_outputs(dict.fromkeys(normed, norm), seen.__setitem__))
        return stack
