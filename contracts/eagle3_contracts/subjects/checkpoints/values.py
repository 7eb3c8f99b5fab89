"""What the values of a tensor show: not finite, all the same, or distributed exactly as an initialisation leaves them.

A trained tensor leaves its initial distribution: the largest weight passes the uniform bound, or the spread its
value, by many standard errors. A tensor is called fresh only if all of it fits to sampling error.
"""

from __future__ import annotations

import math

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
            moments += [float((kept**power).sum()) for power in range(5)]
    fan_in = tensor.shape[-1] if len(tensor.shape) == 2 else 0
    fresh = "" if nonfinite or same else _find_initialisation(moments, largest, fan_in, spread)
    return WeightValues(nonfinite, largest, first if same else None, fresh)


def _find_initialisation(moments: npt.NDArray[np.float64], largest: float, fan_in: int, spread: float) -> str:
    """Name the initialisation that a matrix fits in mean, spread, kurtosis and largest value."""
    count = moments[0]
    if not fan_in or count < FEWEST:
        return ""
    mean = moments[1] / count
    variance = moments[2] / count - mean**2
    fourth = moments[4] / count - 4 * mean * moments[3] / count + 6 * mean**2 * moments[2] / count - 3 * mean**4
    if variance <= 0:
        return ""
    deviation, kurtosis = math.sqrt(variance), fourth / variance**2
    if abs(mean) > SIGMAS * deviation / math.sqrt(count):
        return ""
    bound = 1 / math.sqrt(fan_in)
    uniform_error = math.sqrt(1 / 5 / count)
    if (
        abs(kurtosis - 1.8) < 0.05
        and largest <= bound * 1.004
        and _near(deviation, bound / math.sqrt(3), uniform_error)
    ):
        return f"uniform within 1/sqrt({fan_in}), torch's own start of a linear layer"
    normal_error = math.sqrt(1 / 2 / count)
    if abs(kurtosis - 3) < SIGMAS * math.sqrt(24 / count):
        for value, whose in ((spread, "the config's initializer_range"), (1.0, "torch's start of an embedding")):
            if _near(deviation, value, normal_error):
                return f"normal with deviation {value:g}, {whose}"
    return ""


def _near(found: float, expected: float, relative_error: float) -> bool:
    """Tell whether a deviation is the expected one, to sampling error and the rounding of bfloat16."""
    return abs(found / expected - 1) < SIGMAS * relative_error + 1e-4
