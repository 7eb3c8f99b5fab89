"""Whether the target that is served is the contract's, by its sizes: ids mean nothing for another number of layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

TARGET_SIZES = ("hidden_size", "num_hidden_layers", "vocab_size")


def find_other_target(contract: Contract, sizes: Mapping[str, Any]) -> str:
    """Say in what a target is another one than declared, or nothing; sizes that are not known say nothing."""
    declared = {name: getattr(contract.target, name) for name in TARGET_SIZES}
    wrong = [
        f"{name} {sizes[name]} (declared {wanted})"
        for name, wanted in declared.items()
        if sizes.get(name) not in {None, wanted}
    ]
    return f"another target is served, with {', '.join(wrong)}" if wrong else ""
