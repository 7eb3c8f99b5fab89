"""The embedded capture: the golden target run by the torch route in float32.

Its reference is the numpy route in float64, which shares no arithmetic with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.subjects.captures.padding import cut_batch, pad_batch
from eagle3_contracts.subjects.captures.protocol import Captured
from eagle3_contracts.subjects.targets.agreement import check_config, language_table, read_config
from eagle3_contracts.subjects.targets.llama_torch import TorchStates, forward
from eagle3_contracts.subjects.targets.parts import find_prefix
from eagle3_contracts.subjects.targets.shape import LlamaShape, read_shape
from eagle3_contracts.subjects.targets.tensors import find_files

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract, Plane


def open_embedded_capture(contract: Contract) -> EmbeddedCapture:
    """Give the embedded capture; raise ``SubjectError`` if the contract is about another target."""
    import torch

    folder = embedded_target()
    path = folder / "config.json"
    config = read_config(path)
    check_config(config, contract, path)
    files = find_files(folder)
    prefix = find_prefix(files)
    weights = {name.removeprefix(prefix): torch.from_numpy(files.read(name)) for name in files.tensors}
    shape = read_shape(language_table(config, contract, path))
    return EmbeddedCapture(weights, shape, contract.stored_planes(), contract.storage.dtype or contract.target.dtype)


@dataclass(frozen=True, slots=True)
class EmbeddedCapture:
    """A capture (see ``protocol.Capture``) of ``planes`` from a Llama-type target, stored as ``dtype``."""

    weights: Mapping[str, Tensor]
    shape: LlamaShape
    planes: tuple[Plane, ...]
    dtype: str
    compute_dtype: ClassVar[str] = "float32"

    def __call__(self, batch: Sequence[Sequence[int]], /) -> list[Captured]:
        """Run the batch once, padded on the right."""
        import torch

        padded, _ = pad_batch(batch)
        with torch.no_grad():
            states = forward(self.weights.get, self.shape, padded)
            return cut_batch(batch, [_tap(states, plane) for plane in self.planes], self.dtype)


def _tap(states: TorchStates, plane: Plane) -> Tensor:
    """Give R[n] for a raw or pre-norm plane, and what follows the final norm for a post-norm one."""
    return states.final if plane.state == "post_norm" else states.boundaries[plane.boundary]
