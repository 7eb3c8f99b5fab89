"""A drafter's tensors, checked once against what its contract expects, and the operations that apply them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from eagle3_contracts.contract.target import Norm
from eagle3_contracts.drafter.shapes import INTEGER_TENSORS, ExpectedTensor

if TYPE_CHECKING:
    import torch
    from torch import Tensor


class WeightsError(ValueError):
    """Tensors that do not make the drafter that the contract describes; ``defects`` lists every one of them."""

    def __init__(self, defects: tuple[str, ...]) -> None:
        super().__init__("; ".join(defects))
        self.defects = defects


class DrafterWeights:
    """The expected tensors in one floating dtype, by canonical name; what else was given stands in ``unread``."""

    def __init__(
        self,
        given: Mapping[str, Tensor],
        expected: Mapping[str, ExpectedTensor],
        norm: Norm,
        dtype: torch.dtype,
    ) -> None:
        import torch

        if defects := tuple(_find_defects(given, expected)):
            raise WeightsError(defects)
        self.norm, self.dtype = norm, dtype
        self.unread = frozenset(given) - frozenset(expected)
        self._tensors = {name: given[name].to(torch.int64 if name in INTEGER_TENSORS else dtype) for name in expected}

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    def get(self, name: str) -> Tensor | None:
        """Give a tensor, or None where the contract has none of that name."""
        return self._tensors.get(name)

    def project(self, name: str, state: Tensor) -> Tensor:
        """Apply a linear map, with its bias if the contract gives it one."""
        import torch

        return torch.nn.functional.linear(state, self[f"{name}.weight"], self._tensors.get(f"{name}.bias"))

    def normalise(self, name: str, state: Tensor) -> Tensor:
        """Apply one of the drafter's norms."""
        return apply_norm(self.norm, state, self[f"{name}.weight"])


def apply_norm(norm: Norm, state: Tensor, weight: Tensor) -> Tensor:
    """Normalise over the last axis, in float32 at least, and scale by the weight, or by 1 + weight.

    The plain norm rounds to the state's dtype before it scales (transformers' LlamaRMSNorm), the others after
    (Gemma's, Cohere's layer norm); in float32 that is the same.
    """
    import torch

    wide = state.to(torch.promote_types(state.dtype, torch.float32))
    if norm.kind == "layer":
        wide = wide - wide.mean(-1, keepdim=True)
    wide = wide * (wide.pow(2).mean(-1, keepdim=True) + norm.eps).rsqrt()
    if norm.kind == "rms" and not norm.plus_one:
        return weight * wide.to(state.dtype)
    scale = weight.to(wide.dtype)
    return (wide * (1.0 + scale if norm.plus_one else scale)).to(state.dtype)


def _find_defects(given: Mapping[str, Tensor], expected: Mapping[str, ExpectedTensor]) -> list[str]:
    defects = []
    for name, tensor in expected.items():
        if name not in given:
            lender = ", which the target lends" if tensor.borrowed else ""
            defects.append(f"{name} is missing: {list(tensor.shape)}{lender}")
        elif tuple(given[name].shape) != tensor.shape:
            defects.append(f"{name} is {list(given[name].shape)}, not {list(tensor.shape)}")
        elif given[name].is_floating_point() is (name in INTEGER_TENSORS):
            kind = "integers" if name in INTEGER_TENSORS else "floating-point numbers"
            defects.append(f"{name} holds {given[name].dtype}, not {kind}")
    return defects
