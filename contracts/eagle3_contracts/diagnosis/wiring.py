"""Wirings: all that may differ between how a drafter was trained and how it is fed, and a contract's own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.contract import Contract, Plane

FLAGS = ("residual", "recurrent", "head_norm", "embedding_norm", "hidden_norm")
"""Names of the contract's drafter table that change what is computed and no tensor's shape."""

WORDS = {
    "taps": "planes into fc",
    "token": "token shift",
    "d2t": "reading of d2t",
    "theta": "rope base",
    "layout": "rope layout",
    "residual": "residual",
    "recurrent": "what the next step gets",
    "head_norm": "norm before lm_head",
    "embedding_norm": "norm on the embedding",
    "hidden_norm": "hidden_norm",
    "input_norm": "norm before fc",
    "prediction": "training target",
}
"""How a report calls what was varied."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """How planes and tokens reach a drafter, and how its tensors are read.

    ``taps``: in the order of concatenation. ``token``: row t embeds x[t + token]. The rest as in the contract.
    """

    taps: tuple[Tap, ...]
    token: int
    d2t: str
    theta: float
    layout: str
    residual: str
    recurrent: str
    head_norm: bool
    embedding_norm: bool
    hidden_norm: str
    input_norm: str


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a drafter may have learned to predict: the argmax of the target's head over some state.

    ``source``: the state, None for the text itself. ``norms``: how often the final norm is applied to it.
    ``shift``: row t's target comes from row t + shift.
    """

    source: Tap | None
    norms: int = 1
    shift: int = 1

    def __str__(self) -> str:
        """Say it as a formula: ``argmax head(final_norm(R[61]))``."""
        if self.source is None:
            told = "the text's next token"
        else:
            told = str(self.source)
            for _ in range(self.norms):
                told = f"final_norm({told})"
            told = f"argmax head({told})"
        return told if self.shift == 1 else f"{told}, {abs(self.shift - 1)} row {'late' if self.shift > 1 else 'early'}"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One explanation of a drafter: a wiring, and what it predicts."""

    wiring: Wiring
    prediction: Prediction

    def get(self, name: str) -> Any:
        """Give the value of one of ``WORDS``."""
        return self.prediction if name == "prediction" else getattr(self.wiring, name)

    def change(self, name: str, value: Any) -> Hypothesis:
        """Give the hypothesis with one value changed."""
        if name == "prediction":
            return replace(self, prediction=value)
        return replace(self, wiring=replace(self.wiring, **{name: value}))


def declared_wiring(contract: Contract) -> Wiring:
    """Give the wiring that a contract states; of several accepted token shifts the first."""
    drafter = contract.drafter
    return Wiring(
        taps=tuple(tap_of(plane) for plane in contract.input_planes()),
        token=contract.alignment.token[0],
        d2t=drafter.d2t,
        theta=drafter.rope.theta,
        layout=drafter.rope.layout,
        input_norm=drafter.fc.input_norm,
        **{name: getattr(drafter, name) for name in FLAGS},
    )


def tap_of(plane: Plane) -> Tap:
    """Give the tap of a contract's plane."""
    return Tap(plane.boundary, plane.state)


def apply_wiring(contract: Contract, wiring: Wiring) -> Contract:
    """Give the contract as ``ReferenceDrafter`` takes it, with the wiring's flags; planes and d2t's fit unchecked."""
    drafter = contract.drafter
    changed = drafter.model_copy(
        update={
            **{name: getattr(wiring, name) for name in FLAGS},
            "d2t": wiring.d2t,
            "rope": drafter.rope.model_copy(update={"theta": wiring.theta, "layout": wiring.layout}),
            "fc": drafter.fc.model_copy(update={"input_norm": wiring.input_norm}),
        }
    )
    return contract.model_copy(update={"drafter": changed})


def name_taps(contract: Contract, taps: tuple[Tap, ...]) -> tuple[str, ...]:
    """Name taps as the contract does (``embed``, ``low``); others by their boundary (``R[30]``)."""
    known = {tap_of(plane): plane.name for plane in contract.planes}
    return tuple(known.get(tap, "embed" if tap.boundary == 0 else str(tap)) for tap in taps)


def describe_taps(contract: Contract, taps: tuple[Tap, ...]) -> str:
    """Say an fc input as an engineer writes it: ``cat(embed, low, mid)``, with the boundaries behind."""
    return f"cat({', '.join(name_taps(contract, taps))}) = {', '.join(map(str, taps))}"


def describe_value(contract: Contract, name: str, value: Any) -> str:
    """Say the value of one of ``WORDS``."""
    if name == "taps":
        return describe_taps(contract, value)
    if name == "token":
        return f"x[t + {value}] beside state t" if value else "x[t] beside state t"
    if isinstance(value, bool):
        return "applied" if value else "left out"
    return f"{value:g}" if isinstance(value, float) else str(value)
