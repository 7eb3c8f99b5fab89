"""Running the drafter: does each tensor matter, and does it draft what was recorded."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from eagle3_contracts.evidence import CheckpointEvidence, Problem
from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects.checkpoints.lending import Lender
from eagle3_contracts.subjects.datasets.stored import FLOATS, StoredTensor, widen_bits
from eagle3_contracts.subjects.targets.parts import Part

if TYPE_CHECKING:
    from torch import Tensor

    from eagle3_contracts.contract import Contract

_PARTS: tuple[Part, ...] = ("embedding", "head")
_NEEDS = Problem(
    "needs", "running the drafter needs torch, which is not installed", "pip install 'eagle3-contracts[torch]'"
)


def run_drafter(
    evidence: CheckpointEvidence,
    contract: Contract,
    stored: Mapping[str, StoredTensor],
    lender: Lender | None,
    options: Options,
) -> CheckpointEvidence:
    """Run the reference drafter with the stored tensors; why it could not be run is a problem of the evidence."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return _fail(evidence, contract, _NEEDS)
    from eagle3_contracts.drafter import WeightsError, expected_tensors
    from eagle3_contracts.subjects.checkpoints.perturbing import LARGEST, complete_weights, measure_responses

    expected = expected_tensors(contract)
    size = sum(4 * prod(tensor.shape) for tensor in expected.values())
    if size > LARGEST:
        reason = f"the drafter takes {size / 2**30:.1f} GiB in float32, and is not run above {LARGEST >> 30}"
        remedy = "check a smaller drafter of this wiring as well"
        return _fail(evidence, contract, Problem("perturbation", reason, remedy))
    tensors = {name: _to_torch(tensor) for name, tensor in stored.items() if name in expected}
    lent = [_as_torch(lender.read(part)) if lender else None for part in _PARTS]
    weights, invented = complete_weights(contract, tensors, lent[0], lent[1], options.seed)
    try:
        responses = measure_responses(contract, weights, options.seed)
    except (WeightsError, ValueError, RuntimeError) as error:
        reason = f"the drafter cannot be run with these tensors: {error}"
        remedy = "mend what checkpoint.tensors-present and checkpoint.shapes name first"
        return _fail(evidence, contract, Problem("perturbation", reason, remedy))
    notes = tuple(f"{name} is the target's, which was not given: random in its place" for name in invented)
    evidence = dataclasses.replace(evidence, responses=responses, notes=(*evidence.notes, *notes))
    return _compare_with_recording(evidence, contract, weights, invented)


def _fail(evidence: CheckpointEvidence, contract: Contract, problem: Problem) -> CheckpointEvidence:
    """Keep why the drafter was not run, for its drafts as well where any are recorded."""
    from eagle3_contracts.subjects.checkpoints.drafted import has_recording

    kinds = (problem.kind, "drafted") if has_recording(contract) else (problem.kind,)
    for kind in kinds:
        evidence = _with_problem(evidence, dataclasses.replace(problem, kind=kind))
    return evidence


def _compare_with_recording(
    evidence: CheckpointEvidence, contract: Contract, weights: Mapping[str, Tensor], invented: tuple[str, ...]
) -> CheckpointEvidence:
    """Hold what is drafted against the contract's recording, if there is one."""
    from eagle3_contracts.subjects.checkpoints.drafted import compare_drafts, has_recording

    if not has_recording(contract):
        return evidence
    if invented:
        reason = f"{' and '.join(invented)} come from the target, which was not given"
        return _with_problem(evidence, Problem("drafted", reason, "give the target's weights: --contract-target DIR"))
    if not _stays_within(contract, weights):
        reason = "d2t, read as declared, leads outside the target's vocabulary, so that nothing can be drafted on"
        remedy = "mend what checkpoint.d2t-reading and checkpoint.d2t-ids name first"
        return _with_problem(evidence, Problem("drafted", reason, remedy))
    found = compare_drafts(contract, weights)
    if isinstance(found, Problem):
        return _with_problem(evidence, found)
    return dataclasses.replace(evidence, drafted=found)


def _stays_within(contract: Contract, weights: Mapping[str, Tensor]) -> bool:
    """Tell whether every draft id leads to a token of the target: drafted tokens are embedded at the next step."""
    from eagle3_contracts.drafter import ReferenceDrafter

    ids = ReferenceDrafter(contract, weights).target_ids()
    return not len(ids) or (int(ids.min()) >= 0 and int(ids.max()) < contract.target.vocab_size)


def _with_problem(evidence: CheckpointEvidence, problem: Problem) -> CheckpointEvidence:
    return dataclasses.replace(evidence, problems=(*evidence.problems, problem))


def _to_torch(tensor: StoredTensor) -> Tensor:
    import torch

    if tensor.dtype in FLOATS:
        return torch.from_numpy(np.ascontiguousarray(widen_bits(tensor.bits, tensor.dtype), dtype=np.float32))
    return torch.from_numpy(np.array(tensor.bits))


def _as_torch(array: Any) -> Tensor | None:
    import torch

    return None if array is None else torch.from_numpy(array)
