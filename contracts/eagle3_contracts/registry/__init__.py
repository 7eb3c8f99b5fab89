"""The clauses as data: id, level, stage, sentence, what they need, and the public source that forces them.

Standard library only: listing and collecting clauses imports neither numpy nor torch nor pydantic. The check
of ``dataset.norm-range`` is ``check_norm_range`` in ``eagle3_contracts.clauses.dataset``.
"""

from eagle3_contracts.registry.capture import CAPTURE
from eagle3_contracts.registry.checkpoint import CHECKPOINT
from eagle3_contracts.registry.clause import Clause
from eagle3_contracts.registry.contract import CONTRACT
from eagle3_contracts.registry.dataset import DATASET
from eagle3_contracts.registry.golden import GOLDEN
from eagle3_contracts.registry.launch import LAUNCH
from eagle3_contracts.registry.loader import LOADER
from eagle3_contracts.registry.server import SERVER

STAGES = ("contract", "capture", "dataset", "loader", "checkpoint", "launch", "server", "golden")
"""The stages, in the order in which a drafter meets them."""

CLAUSES: tuple[Clause, ...] = (*CONTRACT, *CAPTURE, *DATASET, *LOADER, *CHECKPOINT, *LAUNCH, *SERVER, *GOLDEN)


def clause(clause_id: str) -> Clause:
    """Give the clause of that id; ``KeyError`` if there is none."""
    for item in CLAUSES:
        if item.id == clause_id:
            return item
    raise KeyError(f"no clause {clause_id!r}; `eagle3-contracts list --clauses` lists them")


def clauses_of(stage: str) -> tuple[Clause, ...]:
    """Give the clauses of a stage, in the registry's order."""
    return tuple(item for item in CLAUSES if item.stage == stage)


__all__ = ["CLAUSES", "STAGES", "Clause", "clause", "clauses_of"]
