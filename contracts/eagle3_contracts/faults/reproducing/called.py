"""What captures and loaders gave: recorded after every call was made, as a user reads it who keeps the answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.faults.fault import Fault
from eagle3_contracts.faults.reproducing.recording import Files, dump_json
from eagle3_contracts.subjects.captures.requests import make_requests

_LENGTHS = (17, 20)
"""Tokens of the two requests: different, so that a batch is padded, and longer than a chunk of 16."""


def record_capture(fault: Fault, *, sound: bool) -> Files:
    """Call a capture four times: each request alone, both in a batch, the first one again."""
    from eagle3_contracts.faults.injecting.captures import inject_capture
    from eagle3_contracts.subjects.captures.embedded import open_embedded_capture

    contract = load_contract(CONTRACT)
    capture: Any = open_embedded_capture(contract) if sound else inject_capture(fault.id, contract)
    drawn = make_requests(contract.target.vocab_size)[1:]
    first, second = (request[:length] for request, length in zip(drawn, _LENGTHS, strict=True))
    calls = {"1 alone": [first], "2 alone": [second], "3 batch": [first, second], "4 again": [first]}
    given: dict[str, Any] = {}
    outcomes: dict[str, object] = {}
    for name, batch in calls.items():
        try:
            given[name] = capture(batch)
            outcomes[name] = {"asked": [list(ids) for ids in batch], "outcome": "it returned"}
        except Exception as error:  # noqa: BLE001 (a faulty capture raises what it likes)
            outcomes[name] = {"asked": [list(ids) for ids in batch], "outcome": f"{type(error).__name__}: {error}"}
    tensors = dict(_name_planes(given))
    return {"calls.json": dump_json(outcomes), **({"planes.safetensors": _dump(tensors)} if tensors else {})}


def _name_planes(given: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    import torch

    for name, answers in given.items():
        for at, captured in enumerate(answers):
            place = f"{name}, request {at}"
            yield f"{place}, token ids", torch.tensor(list(captured.token_ids))
            yield from ((f"{place}, plane {number}", plane) for number, plane in enumerate(captured.planes))


def _dump(tensors: dict[str, Any]) -> bytes:
    from safetensors.torch import save

    return save({name: tensor.contiguous().clone() for name, tensor in tensors.items()})


def record_loader(fault: Fault, *, sound: bool) -> Files:
    """Let a loader read a dataset for each way in which a sample can be bad, and a sound one."""
    from eagle3_contracts.faults.injecting.loaders import inject_loader, sound_loader
    from eagle3_contracts.subjects import Options, Subject
    from eagle3_contracts.subjects.loaders.gathering import gather_loader

    make = sound_loader if sound else inject_loader
    contract, factory = make(fault.id, load_contract(CONTRACT))
    evidence = gather_loader(contract, Subject("loader", "recorded", "recorded", factory), Options())
    files: Files = {}
    for scenario, run in evidence.runs.items():
        rows = run.rows
        files[f"{scenario}.json"] = dump_json(
            {
                "it raised": run.refusal,
                "it said": list(run.reports),
                "files changed": list(run.changed),
                "files added": list(run.added),
                "samples written": len(run.samples),
                "rows given": 0 if rows is None else len(rows),
                "dtypes": [] if rows is None else [rows.fc_dtype, rows.last_dtype],
            }
        )
        if rows is not None:
            files[f"{scenario}.safetensors"] = _dump_rows(rows)
    return files


def _dump_rows(rows: Any) -> bytes:
    """Write which stored row each block of fc's input carries, and what stands beside it."""
    from safetensors.numpy import save

    named = {field.name: getattr(rows, field.name) for field in dataclasses.fields(rows)}
    arrays = {name: np.ascontiguousarray(value) for name, value in named.items() if isinstance(value, np.ndarray)}
    return save(arrays)
