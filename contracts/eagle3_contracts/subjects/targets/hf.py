"""A whole target run by transformers: any architecture that it knows, from a folder or a GGUF file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.subjects.targets.agreement import ContradictionError, check_config, check_digest
from eagle3_contracts.subjects.targets.branches import tap_branches
from eagle3_contracts.subjects.targets.hf_loading import load_model
from eagle3_contracts.subjects.targets.parts import Part, PartialTarget, TokenIds, as_token_ids
from eagle3_contracts.subjects.targets.taps import Decoder, find_decoder, tap_inputs, tap_outputs
from eagle3_contracts.subjects.targets.tensors import StoredTensor, TensorFiles

if TYPE_CHECKING:
    from torch import Tensor

_DTYPES = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}
_AGREEMENT = {"float32": 1e-4}
_ROUGH_AGREEMENT = 0.05
"""How far this package's own norm, embedding and head may be from the model's: float32, and any other dtype."""


def open_transformers_target(path: Path, contract: Contract, dtype: str = "float32") -> TransformersTarget:
    """Load the target with transformers, computing in ``dtype``.

    Raises ``SubjectError`` if it cannot be loaded or contradicts the contract: by its config, by its weights'
    sha256, or by what it computes (``embed_scale``, ``norm``, ``logit_scale``, ``logit_softcap``).
    """
    model = load_model(str(path), dtype)
    decoder = find_decoder(model, str(path))
    gguf = None if (path / "config.json").is_file() else _gguf_file(path)
    tensors = ModelTensors(gguf or path, model)
    notes: tuple[str, ...] = ()
    if gguf is not None:
        check_config(_nested_config(model, contract), contract, gguf)
        note = check_digest(tensors, contract, str(path))
        notes = (note,) if note else ()
    target = TransformersTarget(str(path), contract, decoder, tensors, dtype, notes)
    _check_computation(target)
    return target


class ModelTensors(TensorFiles):
    """The weights of a loaded model, read as if from files; ``files`` holds the GGUF file they came from."""

    def __init__(self, source: Path, model: Any) -> None:
        self.files = (source,) if source.is_file() else ()
        self.missing = ()
        self._weights: dict[str, Tensor] = model.state_dict()
        self.tensors = {
            name: StoredTensor(source, _DTYPES.get(str(weight.dtype).removeprefix("torch."), "other"), shape, 0)
            for name, weight in self._weights.items()
            for shape in (tuple(weight.shape),)
        }

    def read(self, name: str, rows: npt.NDArray[np.int64] | slice = slice(None)) -> npt.NDArray[np.float32]:
        """Read a weight, or some of its rows, as float32."""
        import torch

        chosen = self._weights[name][torch.from_numpy(rows) if isinstance(rows, np.ndarray) else rows]
        return np.array(chosen.detach().float().cpu().numpy(), np.float32)


class TransformersTarget(PartialTarget):
    """A target with all its weights, in a transformers model."""

    def __init__(
        self,
        source: str,
        contract: Contract,
        decoder: Decoder,
        tensors: ModelTensors,
        dtype: str,
        notes: Sequence[str] = (),
    ) -> None:
        super().__init__(source, contract, tensors, notes)
        self.decoder, self.dtype = decoder, dtype

    @property
    def holds(self) -> frozenset[Part]:
        """Tell which parts are at hand: all."""
        return frozenset({"embedding", "norm", "head", "layers"})

    def reference(self, token_ids: TokenIds) -> ReferenceStates:
        """Run one sequence alone; raise ``ValueError`` if it is empty or an id lies outside the vocabulary.

        Boundary k is what enters layer k, boundary n what enters the final norm. ``branches`` is None for layers
        whose last sublayer cannot be told.
        """
        import torch

        tokens = as_token_ids(token_ids)
        vocab = self.contract.target.vocab_size
        if not len(tokens) or tokens.min() < 0 or tokens.max() >= vocab:
            raise ValueError(f"{len(tokens)} token ids, not all of them in 0..{vocab - 1}")
        decoder = self.decoder
        entering: dict[int, Tensor] = {}
        final: dict[str, Tensor] = {}
        branches: dict[int, Tensor] = {}
        taps = dict(enumerate((*decoder.layers, decoder.norm)))
        with (
            torch.inference_mode(),
            tap_inputs(taps, entering.__setitem__),
            tap_outputs({"final": decoder.norm}, final.__setitem__),
            tap_branches(decoder.layers, branches.__setitem__),
        ):
            ids = torch.from_numpy(tokens).unsqueeze(0).to(decoder.device)
            logits = decoder.model(input_ids=ids, use_cache=False).logits
        return ReferenceStates(
            token_ids=tokens,
            boundaries=np.stack([_rows(entering[key]) for key in taps]),
            final=_rows(final["final"]),
            logits=_rows(logits),
            branches=np.stack([_rows(branches[key]) for key in sorted(branches)])
            if len(branches) == len(decoder.layers)
            else None,
        )


def _rows(state: Tensor) -> Array:
    """Give [1, T, H] as [T, H], float32."""
    return np.array(state[0].detach().float().cpu().numpy(), np.float32)


def _gguf_file(path: Path) -> Path:
    return path if path.is_file() else next(iter(sorted(path.glob("*.gguf"))))


def _nested_config(model: Any, contract: Contract) -> dict[str, Any]:
    """Give the model's config as its config.json would stand; a GGUF file nests nothing."""
    flat = model.config.to_dict() | {"architectures": [type(model).__name__]}
    flat.pop("quantization_config", None)
    nested = dict(flat)
    for key in reversed([part for part in contract.target.config_path.split(".") if part]):
        nested = flat | {key: nested}
    return nested


def _check_computation(target: TransformersTarget) -> None:
    """Raise ``SubjectError`` where the contract's words on embedding, norm and head are not what the model computes."""
    tokens = list(range(min(8, target.contract.target.vocab_size)))
    states = target.reference(tokens)
    bound = _AGREEMENT.get(target.dtype, _ROUGH_AGREEMENT)
    wrong = [
        f"{what} by {distance:.3g} ({fields})"
        for what, fields, distance in _differences(target, states)
        if not distance <= bound
    ]
    if wrong:
        reason = f"computes otherwise than {target.contract.reference} says: {'; '.join(wrong)}"
        raise ContradictionError(target.source, reason, remedy="mend those fields of the contract, or give its target")


def _differences(target: TransformersTarget, states: ReferenceStates) -> Iterator[tuple[str, str, float]]:
    """Give for each part its name, the contract's fields, and the relative L2 from what the model computed."""
    tokens = states.token_ids.tolist()
    pairs = (
        ("the embedding", "target.embed_scale", target.embedding_rows(tokens), states.boundaries[0]),
        ("the final norm", "target.norm", target.final_norm(states.boundaries[-1]), states.final),
        ("the logits", "target.logit_scale, logit_softcap", target.logits(states.final), states.logits),
    )
    for what, fields, own, theirs in pairs:
        yield what, fields, float(np.median(relative_l2(own, theirs)))
