"""What was read from an exported checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence.problem import Problem

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WeightValues:
    """What the values of a tensor show. ``nonfinite``: values that are NaN or infinite; ``largest``: of magnitudes.

    ``constant``: the one value that all have, None if they differ. ``fresh``: the initialisation whose distribution
    the values have to sampling error, empty if none.
    """

    nonfinite: int = 0
    largest: float = 0.0
    constant: float | None = None
    fresh: str = ""


@dataclass(frozen=True, slots=True)
class WeightRecord:
    """One stored tensor. ``canonical``: the name that the form's own table gives it; ``values``: None if not read."""

    file: str
    dtype: str
    shape: tuple[int, ...]
    canonical: str
    values: WeightValues | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingComparison:
    """The drafter's embedding against the target's.

    ``ids`` [R]: the tokens compared. ``distances`` [R]: relative L2 of each row from the target's of the same token.
    """

    ids: Integers
    distances: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DraftedComparison:
    """Tokens drafted with these weights against the recorded ones, over the recorded sequences.

    ``steps``: agreeing share for each step. ``logprob_distance``: largest difference of log-probability on the recorded
    top tokens. ``source``: the recording.
    """

    positions: int
    agreement: float
    steps: tuple[float, ...]
    source: str
    logprob_distance: float | None = None


@dataclass(frozen=True, slots=True)
class CheckpointEvidence:
    """What was read from a drafter's folder.

    ``form``: speculators, specforge (SGLang's), eagle or modelopt, by structure; None if it is none of them.
    ``config``: config.json as it lies. ``weights``: by stored name. ``idle``: stored names that carry no weight by the
    form's own table (t2d). ``d2t`` [D] and ``t2d`` [V]: None if absent or not integers. ``special_tokens``: what a
    drafter must be able to draft, label to target id. ``responses``: by canonical name, the relative L2 by which the
    logits move when the tensor is perturbed; empty if it was not run (``problems`` of kind perturbation or needs, or
    ``notes``, say why). ``scan``: headers reads no values but the vocabulary's. ``stamps``: what files say of the
    contract that they were made by, by file. ``quantisation``: by place (``config.json: quantization_config``), the
    method by which the weights are said to be quantised.
    """

    subject: str
    form: Literal["speculators", "specforge", "eagle", "modelopt"] | None = None
    scan: str = "sample"
    config: Mapping[str, Any] = field(default_factory=dict)
    weights: Mapping[str, WeightRecord] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    d2t: Integers | None = None
    t2d: npt.NDArray[np.bool_] | None = None
    special_tokens: Mapping[str, int] = field(default_factory=dict)
    embedding: EmbeddingComparison | None = None
    responses: Mapping[str, float] = field(default_factory=dict)
    drafted: DraftedComparison | None = None
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    stamps: Mapping[str, Any] = field(default_factory=dict)
    quantisation: Mapping[str, str] = field(default_factory=dict)

    def canonical(self) -> dict[str, WeightRecord]:
        """Give the tensors by canonical name, idle ones left out."""
        return {record.canonical: record for name, record in self.weights.items() if name not in self.idle}
