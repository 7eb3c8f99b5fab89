"""Which of a contract's tolerances governs: that of the least precise dtype a state went through."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.contract import Contract, Tolerance

PRECISION = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8, "float8_e4m3fn": 4, "float8_e5m2": 3}
"""Significant bits of a dtype, the implicit one included."""


@dataclass(frozen=True, slots=True)
class Governing:
    """The tolerance that governs, and the dtype it is declared for."""

    dtype: str
    tolerance: Tolerance

    @property
    def relative_l2(self) -> float:
        """The bound on the median over tokens of the relative L2."""
        return self.tolerance.relative_l2_median

    @property
    def logprob(self) -> float:
        """The bound on the difference of log-probability."""
        return self.tolerance.logprob_max


def lowest_dtype(dtypes: Iterable[str]) -> str:
    """Give the least precise of some dtypes; one that is not a float stands below all others."""
    return min(dtypes, key=lambda name: (PRECISION.get(name, 0), name))


def governing_tolerance(contract: Contract, dtypes: Iterable[str]) -> Governing | Obstacle:
    """Give the tolerance of the least precise dtype, or the obstacle that the contract declares none for it."""
    dtype = lowest_dtype(dtypes)
    tolerance = contract.tolerance_for(dtype)
    if tolerance is not None:
        return Governing(dtype, tolerance)
    declared = ", ".join(sorted(contract.tolerance)) or "none"
    return Obstacle(
        f"the contract declares no tolerance for {dtype} (declared: {declared})",
        f"measure a correct artifact in {dtype} and add [tolerance.{dtype}] with relative_l2_median, logprob_max and "
        f"origin to a new version of {contract.name}",
    )
