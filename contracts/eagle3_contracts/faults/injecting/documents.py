"""Faulty documents: the embedded default's contract, changed in one place."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from eagle3_contracts.contract import Contract

Document = dict[str, Any]


def inject_document(fault_id: str, contract: Contract) -> Contract:
    """Give the faulty contract; ``KeyError`` for an unknown fault."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    DOCUMENT_INJECTIONS[fault_id](document)
    return Contract.model_validate_json(json.dumps(document))


def _target_from_auxiliary(document: Document) -> None:
    document["drafter"]["last_hidden"] = "high"


def _input_not_stored(document: Document) -> None:
    document["storage"]["planes"] = [name for name in document["storage"]["planes"] if name != "high"]


def _idle_plane(document: Document) -> None:
    document["planes"].append({"name": "spare", "boundary": 3})


def _other_state(document: Document) -> None:
    formats = document["storage"]["formats"]
    formats["torchspec"], formats["specforge"] = formats["specforge"], ["low", "mid", "high", "final"]


def _untappable(document: Document) -> None:
    """Feed boundary n to a drafter for SGLang, which never captures it on Llama."""
    document["drafter"]["input"] = ["low", "mid", "final"]
    document["planes"] = [plane for plane in document["planes"] if plane["name"] != "final_post"]
    del document["storage"]["formats"]["specforge"]
    document["serving"] = {"engines": {"sglang": ">=0.5.20,<0.5.24"}}


def _ignored_norm(document: Document) -> None:
    document["drafter"]["residual"] = "post_norm"
    document["serving"] = {"engines": {"sglang": ">=0.5.20,<0.5.24"}}


def _no_tolerance(document: Document) -> None:
    del document["tolerance"]["bfloat16"]


def _few_positions(document: Document) -> None:
    document["serving"] = {"engines": {}, "context_length": 2 * document["drafter"]["max_position"]}


DOCUMENT_INJECTIONS: dict[str, Callable[[Document], None]] = {
    "document-targets-from-auxiliary-plane": _target_from_auxiliary,
    "document-input-not-stored": _input_not_stored,
    "document-plane-without-use": _idle_plane,
    "document-format-keeps-other-state": _other_state,
    "document-engine-cannot-tap": _untappable,
    "document-engine-ignores-norm": _ignored_norm,
    "document-no-tolerance": _no_tolerance,
    "document-positions-too-few": _few_positions,
}
"""By fault id: what is changed in the document."""
