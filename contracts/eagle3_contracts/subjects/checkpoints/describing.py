"""How every engine and version that was read will read a checkpoint, as a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagle3_contracts.consumers import ENGINES, Reading, Stored, read_range
from eagle3_contracts.dialects import NotVerified, Resolution
from eagle3_contracts.dialects.table import find_tool
from eagle3_contracts.subjects.checkpoints.reading import open_checkpoint
from eagle3_contracts.subjects.checkpoints.recognition import recognise

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract

Row = dict[str, Any]


def describe_checkpoint(path: Path, contract: Contract | None) -> dict[str, Any]:
    """Describe how a checkpoint is read, as JSON-ready values; no tensor's values are looked at.

    A row's ``ids``: the key and the list that it reads; ``taps``: what they give, in the order in which it is fed, null
    without a contract that names the target; ``fc_planes``, ``fc_input``, ``fc_applied``; ``dropped``, ``refused``,
    ``never_applied``: stored tensors; ``unfilled``: parameters without one; ``outcome``: runs, or where it stops.
    Raises ``SubjectError`` for a path that does not exist.
    """
    opened = open_checkpoint(path)
    target = contract.target if contract is not None else None
    stored = Stored(
        config=opened.folder.config,
        shapes={name: tensor.shape for name, (_, tensor) in opened.tensors.items()},
        architecture=target.architecture if target else None,
        layers=target.num_hidden_layers if target else None,
        plane_width=target.hidden_size if target else None,
    )
    readings = [
        reading
        for engine in ENGINES
        for reading in read_range(engine, f">={find_tool(engine).read[0]}", stored)
        if stored.config
    ]
    return {
        "checkpoint": str(path),
        "form": recognise(opened.folder.config, opened.tensors),
        "contract": contract.reference if contract is not None else None,
        "problems": [f"{problem.where}: {problem.reason}" for problem in opened.problems],
        "readings": [_row(reading) for reading in readings],
    }


def _row(reading: Reading | NotVerified) -> Row:
    if isinstance(reading, NotVerified):
        return {"engine": f"{reading.tool} {reading.version}", "outcome": f"not verified: {reading.reason}"}
    if reading.stops:
        return {"engine": reading.span, "outcome": f"stops at start: {reading.stops}"}
    source = f"{reading.key} {list(reading.ids)}" if reading.ids is not None else "its default"
    return {
        "engine": reading.span,
        "ids": source,
        "taps": [str(tap) for tap in reading.taps.taps] if isinstance(reading.taps, Resolution) else None,
        "ids_passed_over": list(reading.passed_over),
        "fc_planes": reading.planes,
        "fc_input": reading.fc_input,
        "fc_applied": not reading.fc_skipped,
        "features": sorted(reading.features),
        "embedding": reading.embedding,
        "head": reading.head,
        "rope": str(reading.rope),
        "dropped": list(reading.dropped),
        "refused": list(reading.refused),
        "never_applied": list(reading.idle),
        "unfilled": list(reading.unfilled),
        "flags_ignored": list(reading.flags_ignored),
        "outcome": _outcome(reading),
    }


def _outcome(reading: Reading) -> str:
    if reading.refused:
        return f"stops while loading: no parameter for {', '.join(reading.refused[:3])}"
    if isinstance(reading.taps, NotVerified):
        return f"loads; taps not verified: {reading.taps.reason}"
    if isinstance(reading.taps, Resolution) and not reading.taps.runs:
        return f"{reading.taps.outcome}: {reading.taps.note}"
    doubts = [
        *(["fc is skipped"] if reading.fc_skipped else []),
        *([f"{len(reading.unfilled)} parameters at their initial values"] if reading.unfilled else []),
        *([f"{len(reading.dropped)} tensors dropped"] if reading.dropped else []),
    ]
    return f"runs, without a word, though {', '.join(doubts)}" if doubts else "runs"
