"""Recording what the stored drafter drafts, from the states as they are stored."""

from __future__ import annotations

from collections.abc import Sequence as Listed
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.accuracy import make_drafts, passage_from_states
from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter import ReferenceDrafter
from eagle3_contracts.recording.files import replacing
from eagle3_contracts.recording.sequences import Sequence
from eagle3_contracts.subjects.checkpoints.weights import read_drafter
from eagle3_contracts.subjects.goldens import DRAFTS, Golden

if TYPE_CHECKING:
    import numpy.typing as npt

STEPS = 3
"""Steps that the drafter saw in training."""


def write_drafts(folder: Path, contract: Contract, sequences: Listed[Sequence]) -> None:
    """Write the drafts of every sequence of two tokens or more; the states are read back from ``STATES``."""
    from safetensors.numpy import save_file

    listed = [{"token_ids": list(item.token_ids)} for item in sequences]
    golden = Golden(folder, {"sequences": listed, "vocab_size": contract.target.vocab_size})
    drafter = ReferenceDrafter(contract, read_drafter(folder / "drafter", contract, golden.target))
    tensors: dict[str, npt.NDArray[np.generic]] = {}
    for number, item in enumerate(sequences):
        if len(item.token_ids) < 2:
            continue
        made = make_drafts(drafter, passage_from_states(contract, golden.states(number)), STEPS)
        parts = ("drafted", "top_ids", "top_logits", "log_sum_exp")
        tensors |= {f"{number}.{part}": np.ascontiguousarray(getattr(made, part)) for part in parts}
    with replacing(folder / DRAFTS) as scratch:
        save_file(tensors, scratch)
