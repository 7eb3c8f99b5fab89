"""The embedded default told otherwise: other planes, orders, norm states and dtypes, each declared and kept to."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.dumps import dump_golden_texts
from eagle3_contracts.subjects.captures.embedded import EmbeddedCapture, open_embedded_capture
from support.formats import GoodSample

Document = dict[str, Any]

LAYERS = 8
FP8 = {
    "relative_l2_median": 0.06,
    "logprob_max": 0.3,
    "origin": "the recorded texts in float8_e4m3fn, one scale a token: 0.0267 and 0.0925; room left for other texts",
}


def change_contract(contract: Contract, change: Callable[[Document], None]) -> Contract:
    """Give the contract with its document changed."""
    document = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    change(document)
    return Contract.model_validate_json(json.dumps(document))


def declare_planes(
    boundaries: Sequence[int], *, fed: Sequence[int], last: str = "pre_norm", **storage: Any
) -> Callable[[Document], None]:
    """Declare the planes on disk, in order, and those of them that are fed, by place.

    ``last``: the norm state of boundary n if it is among them. It is the last hidden state then, else there is none.
    """

    def change(document: Document) -> None:
        planes = [
            {"name": f"p{place}", "boundary": boundary} | ({"state": last} if boundary == LAYERS else {})
            for place, boundary in enumerate(boundaries)
        ]
        final = [plane["name"] for plane in planes if plane["boundary"] == LAYERS]
        document["planes"] = planes
        names = [plane["name"] for plane in planes]
        document["storage"] = {"planes": names, "dtype": "bfloat16", **storage}
        document["drafter"] |= {"input": [names[place] for place in fed], "last_hidden": (final or ["none"])[0]}
        document["serving"] = {"engines": {}}

    return change


CONVENTIONS: dict[str, Callable[[Document], None]] = {
    "other planes": declare_planes([1, 3, 6, 8], fed=[0, 1, 2]),
    "descending order": declare_planes([8, 6, 3, 1], fed=[1, 2, 3]),
    "fed in another order than stored": declare_planes([1, 3, 6, 8], fed=[2, 0, 1]),
    "the embedding first, fed": declare_planes([0, 2, 4, 8], fed=[0, 1, 2]),
    "the embedding first, not fed": declare_planes([0, 2, 4, 5, 8], fed=[1, 2, 3]),
    "one plane": declare_planes([7, 8], fed=[0]),
    "six planes": declare_planes([1, 2, 3, 5, 6, 7, 8], fed=[0, 1, 2, 3, 4, 5]),
    "the final state fed and learned from": declare_planes([2, 5, 8], fed=[0, 1, 2]),
    "the final state after its norm": declare_planes([2, 4, 5, 8], fed=[0, 1, 2], last="post_norm"),
    "no final state": declare_planes([2, 4, 5], fed=[0, 1, 2]),
    "stored in float32": declare_planes([2, 4, 5, 8], fed=[0, 1, 2], dtype="float32"),
    "stored in float16": declare_planes([2, 4, 5, 8], fed=[0, 1, 2], dtype="float16"),
}
"""By name: what the document says; everything made under it keeps to it."""


def store_in(dataset_format: str, state: str | None) -> Callable[[Document], None]:
    """Declare the default's planes for one format, the final state as the format keeps it."""

    def change(document: Document) -> None:
        final = "final_post" if state == "post_norm" else "final"
        document["storage"] |= {"formats": {dataset_format: ["low", "mid", "high", final]}}
        if dataset_format == "hs-connectors-fp8":
            document["storage"] |= {"dtypes": {dataset_format: "float8_e4m3fn"}}
            document["tolerance"]["float8_e4m3fn"] = FP8

    return change


def capture_samples(
    contract: Contract, dataset_format: str | None = None, texts: Sequence[Sequence[int]] | None = None
) -> list[GoodSample]:
    """Capture the recorded texts, or others, as the contract declares them for a format."""
    capture = dataclasses.replace(open_embedded_capture(contract), planes=contract.stored_planes(dataset_format))
    if texts is None:
        dump = dump_golden_texts(Path(), capture)
        return [_sample(capture, item.token_ids.tolist(), item.mask.tolist()) for item in dump.samples]
    return [_sample(capture, text, [int(place >= len(text) // 3) for place in range(len(text))]) for text in texts]


def _sample(capture: EmbeddedCapture, token_ids: Sequence[int], mask: Sequence[int]) -> GoodSample:
    planes = dataclasses.replace(capture, dtype="float32")([list(token_ids)])[0].planes
    return GoodSample(tuple(token_ids), np.asarray(planes.numpy(), np.float32), tuple(mask))
