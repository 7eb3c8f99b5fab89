"""What the values of a tensor show: not finite, all the same, or distributed exactly as an initialisation leaves them.

A trained tensor leaves its initial distribution: the largest weight passes the uniform bound, or the spread its
value, by many standard errors. A tensor is called fresh only if all of it fits to sampling error.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence import WeightValues
from eagle3_contracts.subjects.datasets.stored import FLOATS, StoredTensor, widen_bits

CHUNK = 1 << 22
"""Values widened at a time."""
FEWEST = 2048
"""Values below which a distribution tells nothing."""
SIGMAS = 4.0


def read_values(tensor: StoredTensor, spread: float) -> WeightValues:
    """Scan a tensor once. ``spread``: the standard deviation that the config's initializer_range states."""
    flat = tensor.bits.reshape(-1)
    if tensor.dtype not in FLOATS or flat.size == 0:
        return WeightValues()
    nonfinite, largest, moments = 0, 0.0, np.zeros(5)
    first = float(widen_bits(flat[:1], tensor.dtype)[0])
    same = True
    for start in range(0, flat.size, CHUNK):
        with np.errstate(invalid="ignore", over="ignore"):
            values = widen_bits(flat[start : start + CHUNK], tensor.dtype).astype(np.float64)
        finite = np.isfinite(values)
        nonfinite += int(values.size - finite.sum())
        kept = values[finite]
        same = same and bool((values == first).all())
        if kept.size:
            largest = max(largest, float(np.abs(kept).max()))
            with np.errstate(over="ignore", under="ignore"):
                moments += [float((kept**power).sum()) for power in range(5)]
    drawn = not nonfinite and not same and len(tensor.shape) == 2
    fresh = find_initialisation(moments, largest, tensor.shape, spread) if drawn else ""
    return WeightValues(nonfinite, largest, first if same else None, fresh)


def find_initialisation(moments: npt.NDArray[np.float64], largest: float, shape: tuple[int, ...], spread: float) -> str:
    """Name the initialisation that a matrix [fan out, fan in] fits in mean, spread, kurtosis and largest value.

    ``moments``: the sums of the powers 0 to 4 of its values.
    """
    count = moments[0]
    if count < FEWEST:
        return ""
    mean = moments[1] / count
    variance = moments[2] / count - mean**2
    fourth = moments[4] / count - 4 * mean * moments[3] / count + 6 * mean**2 * moments[2] / count - 3 * mean**4
    if not variance**2 > 0 or not np.isfinite(fourth):
        return ""
    deviation, kurtosis = math.sqrt(variance), fourth / variance**2
    if abs(mean) > SIGMAS * deviation / math.sqrt(count):
        return ""
    for shaped, values in _starts(shape, spread).items():
        if abs(kurtosis - shaped.kurtosis) > max(0.05, SIGMAS * math.sqrt(shaped.spread / count)):
            continue
        error = math.sqrt((shaped.kurtosis - 1) / 4 / count)
        for value, whose in values:
            if largest <= shaped.reach * value * 1.004 and _near(deviation, value, error):
                return f"{shaped.name} with deviation {value:.3g}, {whose}"
    return ""


class _Shape(NamedTuple):
    """A distribution: its kurtosis, n times its variance over samples of n, and its largest value in deviations."""

    name: str
    kurtosis: float
    spread: float
    reach: float


_UNIFORM = _Shape("uniform", 1.8, 1.25, math.sqrt(3))
_NORMAL = _Shape("normal", 3.0, 24.0, math.inf)
_CUT = _Shape("normal, cut at two deviations,", 2.366, 3.8, 2 / 0.8796)
_CUT_TO = 0.8796
"""The deviation that is left of a normal distribution that is cut at two."""


def _starts(shape: tuple[int, ...], spread: float) -> dict[_Shape, list[tuple[float, str]]]:
    """Give, for each distribution, the deviations that trainers' frameworks start matrices with."""
    fan_out, fan_in = shape
    xavier, he = math.sqrt(2 / (fan_in + fan_out)), math.sqrt(2 / fan_in)
    config = "the config's initializer_range"
    own = (1 / math.sqrt(3 * fan_in), f"within 1/sqrt({fan_in}), torch's own start of a linear layer")
    scaled = [(xavier, "Xavier's start"), (he, "Kaiming's start")]
    return {
        _UNIFORM: [own, *scaled],
        _NORMAL: [(spread, config), (1.0, "torch's start of an embedding")],
        _CUT: [(spread * _CUT_TO, config)],
    }


def _near(found: float, expected: float, relative_error: float) -> bool:
    """Tell whether a deviation is the expected one, to sampling error and the rounding of bfloat16."""
    return expected > 0 and abs(found / expected - 1) < SIGMAS * relative_error + 1e-4
