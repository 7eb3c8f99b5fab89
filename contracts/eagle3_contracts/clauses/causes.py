"""Likely causes of wrong boundaries, guessed from which ones were found, with what mends them.

A guess is a hint and never decides a verdict. Layer ids are not the contract's: ``eagle3-contracts explain``
derives them for every tool and version; the two common readings are written out here since they are cheap.
"""

from __future__ import annotations

from collections.abc import Sequence

from eagle3_contracts.boundaries import default_boundaries
from eagle3_contracts.clauses.states import Likeness, Placement, PlaneFit, name_planes
from eagle3_contracts.contract import Contract


def guess_cause(contract: Contract, placement: Placement, wrong: Sequence[PlaneFit]) -> str:
    """Say what most likely happened, and the command or line that mends it."""
    unlike = [fit for fit in wrong if fit.likeness is Likeness.UNLIKE]
    if unlike:
        return _strange_states(contract, unlike)
    if any(fit.found.state == "branch" for fit in wrong):
        return "fused layers return (hidden, residual) not yet added: capture hidden + residual"
    return f"{_misread_ids(contract, placement)}. {_right_ids(contract, placement)}"


def _strange_states(contract: Contract, unlike: Sequence[PlaneFit]) -> str:
    scale = contract.target.embed_scale
    if scale != 1 and any(fit.plane.boundary == 0 for fit in unlike):
        return f"the embedding output is to be captured after its scale of {scale:g} (target.embed_scale)"
    return (
        f"{name_planes(unlike)} not computed by {contract.target.model} from these tokens: other weights or "
        "another text, states of another request, quantised states read without their scales, or a rotated residual "
        "stream (QuaRot)"
    )


def _misread_ids(contract: Contract, placement: Placement) -> str:
    found = [fit.found.boundary for fit in placement.fits]
    declared = [fit.plane.boundary for fit in placement.fits]
    layers = contract.target.num_hidden_layers
    steps = {there - here for there, here in zip(found, declared, strict=True) if here < layers}
    auxiliary = tuple(boundary for boundary in found if boundary < layers)
    if steps == {1}:
        return "every auxiliary plane is one boundary late: ids that count boundaries were read as ids of layer outputs"
    if steps == {-1}:
        return "every auxiliary plane is one boundary early: ids of layer outputs were read as boundaries"
    if found[0] == 0 and found[1:] == declared[:-1]:
        return "the embedding output stands first and every other plane has moved up by one place"
    if len(set(found)) < len(found):
        return "one boundary stands twice: an id given twice, or a plane overwritten by a later layer in one buffer"
    if auxiliary == _defaults(contract) and auxiliary != tuple(declared):
        return "these are the tools' default boundaries: the ids were given where the tool does not read them"
    return "the ids mean other layers than the contract's"


def _defaults(contract: Contract) -> tuple[int, ...]:
    try:
        return default_boundaries(contract.target.num_hidden_layers)
    except ValueError:
        return ()


def _right_ids(contract: Contract, placement: Placement) -> str:
    """Write the declared boundaries in the two common readings of ids."""
    boundaries = sorted(fit.plane.boundary for fit in placement.fits)
    outputs = [boundary - 1 for boundary in boundaries]
    return (
        f"Ids that count boundaries (vLLM, speculators from 0.5 on): {boundaries}; ids of layer outputs (SpecForge, "
        f"ModelOpt, most of SGLang): {outputs}; `eagle3-contracts explain {contract.reference}` lists every tool's"
    )
