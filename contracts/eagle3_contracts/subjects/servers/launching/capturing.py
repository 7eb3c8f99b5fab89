"""The flags of a server that returns the contract's planes and loads no drafter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from packaging.version import Version

from eagle3_contracts.dialects import Inverse, NotVerified, find_dialect, invert
from eagle3_contracts.dialects.wanted import wanted_of
from eagle3_contracts.subjects import SubjectError

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

FIRST = Version("0.5.23")
"""The release that brought ``--enable-return-aux-hidden-states``; before it planes need a loaded drafter."""

_DRAFTER = "launch:eagle3 returns the planes too, with the drafter loaded"


def capture_flags(contract: Contract, release: str) -> list[str]:
    """Give the flags that capture ``drafter.input`` in a release of SGLang; ``SubjectError`` where none do."""
    if Version(release) < FIRST:
        raise SubjectError("launch:capture", f"SGLang {release} has no capture without a drafter", remedy=_DRAFTER)
    dialect = find_dialect("sglang", release, contract.target.architecture)
    if isinstance(dialect, NotVerified):
        remedy = f"launch a release that was read; `eagle3-contracts explain {contract.reference}` lists them"
        raise SubjectError("launch:capture", str(dialect), remedy=remedy)
    found = invert(dialect, wanted_of(contract, dialect).taps, contract.target.num_hidden_layers)
    if not isinstance(found, Inverse):
        raise SubjectError("launch:capture", f"no ids mean {contract.reference}: {found.reason}", remedy=_DRAFTER)
    if found.ids is not None and min(found.ids) < 0:
        reason = f"the capture flag of SGLang {release} refuses negative ids, and {list(found.ids)} are needed"
        raise SubjectError("launch:capture", reason, remedy=_DRAFTER)
    flags = ["--enable-return-aux-hidden-states", "--speculative-algorithm", "EAGLE3"]
    if found.ids is not None:
        flags += ["--return-aux-hidden-state-layer-ids", *map(str, found.ids)]
    return flags
