"""Boundaries: where in the residual stream a plane is taken, independent of any tool's ids.

Boundary k, written R[k], is the residual stream entering decoder layer k: R[0] is the embedding's output and
R[n] the last layer's output before the final norm. Ids belong to dialects (``eagle3_contracts.dialects``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["raw", "pre_norm", "post_norm", "branch"]
"""What of the stream a tap shows. ``raw``: R[k], k < n. Boundary n: ``pre_norm`` R[n], ``post_norm``
final_norm(R[n]). ``branch``: the last sublayer's output without the residual (SGLang's Gemma 3)."""


@dataclass(frozen=True, slots=True, order=True)
class Tap:
    """What a tool really captures: a boundary and its state."""

    boundary: int
    state: State = "raw"

    def __str__(self) -> str:
        """Say it as an engineer would: ``R[31]``, ``final_norm(R[61])``."""
        words = {"post_norm": f"final_norm(R[{self.boundary}])", "branch": f"R[{self.boundary}] without its residual"}
        return words.get(self.state, f"R[{self.boundary}]")


def tap_at(boundary: int, layers: int) -> Tap:
    """Give the tap of the residual stream itself at a boundary: ``raw`` below n, ``pre_norm`` at n."""
    return Tap(boundary, "pre_norm" if boundary == layers else "raw")


def default_boundaries(layers: int) -> tuple[int, int, int]:
    """Give the three boundaries that EAGLE-3's reference code captures: 2, n//2, n-3.

    Hard-coded there (traineagle3/modeling_llama_kv.py), and what every tool's default means except
    speculators <= 0.4 and SGLang's MiniMax-M3-VL. Raises ``ValueError`` below 7 layers, where they coincide
    or leave their order.
    """
    if layers < 7:
        raise ValueError(f"{layers} layers: boundaries 2, n//2, n-3 are three ascending ones only from 7 layers on")
    return 2, layers // 2, layers - 3


def describe_boundary(boundary: int, layers: int) -> str:
    """Say a boundary in words: ``boundary 3 (output of layer 2)``."""
    if boundary == 0:
        return "boundary 0 (embedding output)"
    if boundary == layers:
        return f"boundary {layers} (output of the last layer, {layers - 1}, before the final norm)"
    return f"boundary {boundary} (output of layer {boundary - 1})"
