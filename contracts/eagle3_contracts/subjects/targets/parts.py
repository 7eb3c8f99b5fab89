"""The parts of a target that stand apart from its layers: embedding, final norm, head, as the contract applies them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import Array, ReferenceStates
from eagle3_contracts.findings import Rung
from eagle3_contracts.subjects.targets.tensors import TensorFiles

Part = Literal["embedding", "norm", "head", "layers"]
TokenIds = Sequence[int] | npt.NDArray[np.int64]

PREFIXES = ("model.", "language_model.model.", "model.language_model.", "language_model.", "")
"""Where a language model's tensors stand in a checkpoint; multimodal wrappers put them deeper."""
_HEADS = ("lm_head.weight", "language_model.lm_head.weight", "model.lm_head.weight")
_CACHE_BYTES = 512 << 20
_HEAD_ROWS = 16384


class MissingPartError(LookupError):
    """The target at hand lacks the part that was asked for; ``holds`` tells beforehand."""


class PartialTarget:
    """A target of which some tensors are at hand, read from safetensors when needed.

    ``holds``: the parts there are, which decide ``rung``. ``notes``: what was assumed or could not be had.
    """

    def __init__(self, source: str, contract: Contract, files: TensorFiles, notes: Sequence[str] = ()) -> None:
        self.source, self.contract, self.notes = source, contract, tuple(notes)
        self.dtype = "float32"
        self._files = files
        self._cache: dict[str, Array] = {}
        self.prefix = find_prefix(files)
        self._names = locate_parts(files, tied=contract.target.tied_embedding)

    @property
    def holds(self) -> frozenset[Part]:
        """Tell which parts are at hand."""
        return frozenset(self._names)

    @property
    def rung(self) -> Rung:
        """Tell how much these parts can decide."""
        return rung_of(self.holds)

    def reference(self, token_ids: TokenIds) -> ReferenceStates:
        """Raise ``MissingPartError``: without the layers nothing can be run."""
        raise MissingPartError(f"{self.source} has no complete set of layers for {len(token_ids)} tokens")

    @property
    def norm_vector(self) -> Array:
        """The final norm's weight as it is applied, [H]: 1 + w where the contract says ``plus_one``."""
        weight = self._read(self._need("norm"))
        return np.asarray(weight + 1.0, np.float32) if self.contract.target.norm.plus_one else weight

    def embedding_rows(self, token_ids: TokenIds) -> Array:
        """Give R[0] of these tokens, [T, H]: the embedding's rows times the contract's ``embed_scale``."""
        rows = np.asarray(token_ids, np.int64)
        scaled: Array = self._files.read(self._need("embedding"), rows) * np.float32(self.contract.target.embed_scale)
        return scaled

    def final_norm(self, state: Array) -> Array:
        """Apply the final norm to [T, H], in float64, as the contract's ``norm`` says."""
        norm, wide = self.contract.target.norm, state.astype(np.float64)
        if norm.kind == "layer":
            wide = wide - wide.mean(axis=-1, keepdims=True)
        scaled = wide / np.sqrt(np.mean(np.square(wide), axis=-1, keepdims=True) + norm.eps) * self.norm_vector
        bias = self._need("norm").removesuffix("weight") + "bias"
        return np.asarray(scaled + self._read(bias) if bias in self._files else scaled, np.float32)

    def logits(self, state: Array) -> Array:
        """Give head(state) of [T, H], scaled and capped as the contract says; the head is read in slices."""
        name, target = self._need("head"), self.contract.target
        count = self._files.tensors[name].shape[0]
        result = np.empty((len(state), count), np.float32)
        for first in range(0, count, _HEAD_ROWS):
            part = slice(first, min(first + _HEAD_ROWS, count))
            result[:, part] = state @ self._read(name, part).T
        result *= np.float32(target.logit_scale)
        if target.logit_softcap is not None:
            cap = np.float32(target.logit_softcap)
            result = cap * np.tanh(result / cap)
        return result

    def _need(self, part: Part) -> str:
        if part not in self._names:
            raise MissingPartError(f"{self.source} holds no {part}")
        return self._names[part]

    def _read(self, name: str, rows: slice | None = None) -> Array:
        """Read through a cache, as long as all tensors together are small."""
        if self._files.parameters * 4 > _CACHE_BYTES:
            return self._files.read(name, rows or slice(None))
        if name not in self._cache:
            self._cache[name] = self._files.read(name)
        return self._cache[name] if rows is None else self._cache[name][rows]


def find_prefix(files: TensorFiles) -> str:
    """Find what stands before ``embed_tokens`` and ``norm`` in the tensors' names."""
    known = ("embed_tokens.weight", "norm.weight")
    return next((prefix for prefix in PREFIXES if any(prefix + name in files for name in known)), "model.")


def locate_parts(files: TensorFiles, *, tied: bool) -> dict[Part, str]:
    """Find the tensors of embedding, norm and head; a part that is quantised or integer does not count."""
    prefix = find_prefix(files)
    candidates: dict[Part, tuple[str, ...]] = {
        "embedding": (prefix + "embed_tokens.weight",),
        "norm": (prefix + "norm.weight",),
        "head": (*_HEADS, *((prefix + "embed_tokens.weight",) if tied else ())),
    }
    found: dict[Part, str] = {}
    for part, names in candidates.items():
        name = next((name for name in names if name in files and files.tensors[name].floating), None)
        if name is not None:
            found[part] = name
    return found


def rung_of(parts: frozenset[Part]) -> Rung:
    """Tell the highest rung that these parts reach."""
    if parts >= {"embedding", "norm", "head", "layers"}:
        return Rung.FULL
    if parts >= {"norm", "head"}:
        return Rung.HEAD
    if "embedding" in parts:
        return Rung.EMBEDDING
    return Rung.NORM if "norm" in parts else Rung.NONE


def as_token_ids(token_ids: TokenIds) -> npt.NDArray[np.int64]:
    """Give token ids as an int64 vector."""
    return np.asarray(token_ids, np.int64).reshape(-1)
