"""The capture protocol: what code that records hidden states takes and gives.

Standard library only, so that users import ``Captured`` without numpy or torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Captured:
    """What a capture gives for one request.

    ``token_ids`` [T]: the ids whose states these are. ``planes`` [P, T, H]: a tensor or array, or a list of P
    of them [T, H], in the order of the contract's ``storage.planes``. ``last_hidden`` [T, H]: the last of
    those planes, if the code keeps it apart; it then counts as the plane after ``planes``.
    """

    token_ids: Sequence[int]
    planes: Any
    last_hidden: Any = None


@runtime_checkable
class Capture(Protocol):
    """Code under test: token ids of several requests in, one ``Captured`` for each out, in the same order.

    Any object with ``token_ids`` and ``planes`` passes for a ``Captured``, so that code under test need not
    import this package. An attribute ``compute_dtype`` (a torch dtype's name) says what it computes in, and
    so which tolerance holds; without it the contract's ``target.dtype`` is assumed.
    """

    def __call__(self, batch: Sequence[Sequence[int]], /) -> Sequence[Captured]:
        """Run the target on a batch of token ids, padded as the code sees fit."""
        ...
