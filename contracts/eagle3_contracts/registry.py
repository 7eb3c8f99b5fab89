"""The clauses as data: id, level, stage, sentence, what they need, and the public source that forces them.

Standard library only: listing and collecting clauses imports neither numpy nor torch nor pydantic. The check
of ``dataset.norm-range`` is ``check_norm_range`` in ``eagle3_contracts.clauses.dataset``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eagle3_contracts.findings import Level

Stage = Literal["contract", "capture", "dataset", "loader", "checkpoint", "launch", "server", "golden"]
STAGES: tuple[Stage, ...] = ("contract", "capture", "dataset", "loader", "checkpoint", "launch", "server", "golden")


@dataclass(frozen=True, slots=True)
class Clause:
    """One checkable sentence of the contract.

    ``id`` is permanent and no id is a prefix of another. ``needs``: evidence without which the clause does
    not apply: ``target`` (a reference target, of at least ``rung``). ``why``: the public case or the source
    that forces the rule.
    """

    id: str
    level: Level
    sentence: str
    why: str
    needs: tuple[str, ...] = ()

    @property
    def stage(self) -> str:
        """The stage, the part of the id before the dot."""
        return self.id.partition(".")[0]

    @property
    def check_name(self) -> str:
        """The name of the function that checks it, within ``clauses.<stage>``."""
        return "check_" + self.id.partition(".")[2].replace("-", "_")


MUST, SHOULD = Level.MUST, Level.SHOULD
