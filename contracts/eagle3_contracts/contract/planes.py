"""Planes: the captured boundaries, by name."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from eagle3_contracts.contract.base import Name, Table, Text
from eagle3_contracts.contract.defects import Defect, TableError

State = Literal["raw", "pre_norm", "post_norm"]


def _check_order(limits: tuple[float, float]) -> tuple[float, float]:
    low, high = limits
    if not 0 <= low < high:
        raise TableError((Defect("", f"[{low:g}, {high:g}]", "[low, high] with 0 <= low < high"),))
    return limits


Range = Annotated[tuple[float, float], AfterValidator(_check_order)]


class NormRange(Table):
    """The accepted range of the median over tokens of the per-token L2 norm.

    The median, since a few positions of real models carry massive activations (SmolLM2-135M, boundary 12:
    median 142, maximum 22,712 at the first token). ``origin`` says where the numbers were measured.
    """

    median: Range = Field(description="[low, high], inclusive")
    origin: Text = Field(description="where and on what the numbers were measured")


class Plane(Table):
    """One captured boundary.

    ``state``: ``raw`` for boundaries below n. Boundary n must say ``pre_norm`` (R[n], as vLLM and
    speculators store it) or ``post_norm`` (final_norm(R[n]), as HF ``hidden_states[n]``, SpecForge and
    AngelSlim store it): tools disagree in silence.
    """

    name: Name = Field(description="what the other tables call this plane")
    boundary: Annotated[int, Field(ge=0)] = Field(
        description="k of R[k]: 0 is the embedding output, k the output of layer k - 1, n the last layer's output"
    )
    state: State = Field(default="raw", description="boundary n: pre_norm or post_norm; below n: raw")
    norm: NormRange | None = Field(default=None, description="the measured range of norms; absent: nobody measured")

    @property
    def is_final(self) -> bool:
        """Tell whether the plane is a final state (boundary n, pre- or post-norm)."""
        return self.state != "raw"
