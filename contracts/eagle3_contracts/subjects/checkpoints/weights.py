"""A checkpoint's tensors as the reference drafter takes them: canonical names, float32, the target's lent rows."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from eagle3_contracts.drafter import canonical_names, expected_tensors, fill_borrowed
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.checkpoints.lending import Lender
from eagle3_contracts.subjects.checkpoints.reading import open_checkpoint
from eagle3_contracts.subjects.checkpoints.recognition import recognise
from eagle3_contracts.subjects.datasets.stored import FLOATS, StoredTensor, widen_bits
from eagle3_contracts.subjects.targets.parts import Part, locate_parts
from eagle3_contracts.subjects.targets.tensors import TensorFiles, find_files

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract

_LENT: tuple[Part, Part] = ("embedding", "head")


def read_drafter(path: Path, contract: Contract, target: Path | None = None) -> dict[str, Tensor]:
    """Read every tensor that a contract's drafter consists of; what the target lends is filled in if it is given.

    Raises ``SubjectError`` for files that cannot be read, or whose form no trainer writes. Whether the tensors
    make the contract's drafter is for ``ReferenceDrafter`` to say.
    """
    import torch

    opened = open_checkpoint(path)
    if opened.problems:
        problem = opened.problems[0]
        raise SubjectError(str(path), f"{problem.where}: {problem.reason}", remedy=problem.remedy)
    form = recognise(opened.folder.config, opened.tensors)
    if form is None:
        remedy = "export with speculators, SpecForge (export_to_sglang), ModelOpt or EAGLE's own code"
        raise SubjectError(str(path), "is of no form that a trainer writes", remedy=remedy)
    names = _rename(opened.tensors, form, path)
    expected = expected_tensors(contract)
    weights = {
        names[name]: _widen(tensor) for name, (_, tensor) in opened.tensors.items() if names.get(name) in expected
    }
    if target is None:
        return weights
    files = find_files(target) if target.is_dir() else TensorFiles([target])
    lender = Lender(files, locate_parts(files, tied=contract.target.tied_embedding))
    lent = [lender.read(part) for part in _LENT]
    return fill_borrowed(contract, weights, *(None if rows is None else torch.from_numpy(rows) for rows in lent))


def _rename(stored: Iterable[str], form: str, path: Path) -> dict[str, str]:
    try:
        return canonical_names(stored, form)
    except ValueError as error:
        raise SubjectError(str(path), str(error), remedy="keep one copy of each tensor") from None


def _widen(tensor: StoredTensor) -> Tensor:
    import torch

    if tensor.dtype in FLOATS:
        return torch.from_numpy(np.ascontiguousarray(widen_bits(tensor.bits, tensor.dtype), dtype=np.float32))
    return torch.from_numpy(np.array(tensor.bits))
