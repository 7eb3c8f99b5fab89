"""What a fault is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What goes wrong, in twelve kinds."""

    LAYER = "layer"
    CONTENT = "content"
    CFG = "configuration"
    WEIGHTS = "weights"
    VOCAB = "vocabulary"
    ROPE = "rotary positions"
    DATA = "data"
    ALIGN = "alignment"
    PAR = "parallelism"
    QUANT = "quantisation"
    RUNTIME = "runtime"
    METRIC = "metric"


@dataclass(frozen=True, slots=True)
class Fault:
    """One deliberate defect.

    ``mechanism``: what was done wrong. ``source``: the public case as ``OWNER/REPOSITORY issue #N`` or ``PR #N``,
    behind ``same kind:`` where it is another defect of that kind; else the tool, its version and the file that shows
    the mechanism, or the rule of a format that leaves room for it.
    ``clause``: the clause that must fail. ``companions``: clauses that fail along with it, since the same numbers show
    it there too. ``unchecked``: clauses that cannot be checked as long as the fault is there. Any other clause that
    fails or errs is a defect of the suite.
    """

    id: str
    kind: Kind
    mechanism: str
    source: str
    clause: str
    companions: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def stage(self) -> str:
        """The stage of the clause that must catch it."""
        return self.clause.partition(".")[0]
