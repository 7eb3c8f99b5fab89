"""Which planes a trainer captures: its dialect's reading of the ids it is given, or of none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.consumers.configs import look_up
from eagle3_contracts.dialects import NotVerified, Resolution, find_dialect, find_tool
from eagle3_contracts.dialects.dialect import Dialect
from eagle3_contracts.dialects.table import LIKE_MOST
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.writing.facts import Facts
from eagle3_contracts.writing.trainers import Trainer

_THREE = ("low", "mid", "high")


@dataclass(frozen=True, slots=True)
class Ids:
    """Layer ids as the trainer was given them, None if it was given none, and where that was said."""

    listed: tuple[int, ...] | None
    origin: str
    version: str | None = None


@dataclass(frozen=True, slots=True)
class Captured:
    """What lies on disk and what is fed: taps in order. ``last``: what targets are computed from, None for logits."""

    fed: tuple[Tap, ...]
    last: Tap | None

    @property
    def stored(self) -> tuple[Tap, ...]:
        """Give the taps on disk, in order."""
        return self.fed if self.last is None else (*self.fed, self.last)


def find_ids(trainer: Trainer, draft: Mapping[str, Any] | None, given: Sequence[int] | None) -> Ids:
    """Find the ids: the command line's, else those of the draft config at the trainer's own place, else none."""
    if given is not None:
        return Ids(tuple(given), "--layer-ids")
    for path in trainer.ids_at if draft is not None else ():
        _, value = look_up(draft or {}, path)
        if isinstance(value, list) and value:
            if not all(type(item) is int for item in value):
                raise SubjectError("--draft-config", f"{'.'.join(path)} holds {value!r}", remedy="write layer ids")
            return Ids(tuple(value), f"the draft config's {'.'.join(path)}")
    return Ids(None, "no ids are given, so the trainer's default")


def capture_planes(trainer: Trainer, ids: Ids, facts: Facts) -> Captured:
    """Give the planes that the trainer's dialect makes of the ids, and note them with their names.

    Raises ``SubjectError`` where the trainer stops, and says why.
    """
    architecture, layers = facts.value("target.architecture"), facts.value("target.num_hidden_layers")
    dialect, doubt = _find(trainer, ids, architecture)
    found = dialect.resolve(ids.listed, layers)
    label = f"{dialect.label} with {architecture}"
    if not found.runs or not found.taps or any(tap.state == "branch" for tap in found.taps):
        raise SubjectError(trainer.label, _say_failure(found, ids, label), remedy=_ids_remedy(trainer))
    captured = _split(dialect, found.taps, layers, trainer)
    names = name_taps(captured.stored)
    planes = [_plane(names[tap], tap) for tap in dict.fromkeys(captured.stored)]
    listed = "" if ids.listed is None else f": {list(ids.listed)}"
    origin = f"{ids.origin}{listed} ({label}; {dialect.source})"
    note = facts.assume if doubt or ids.listed is None else facts.find
    told = f"{origin}{f'; {doubt}' if doubt else ''}"
    note("planes", planes, told)
    facts.find("storage.planes", [names[tap] for tap in captured.stored], _say_storage(trainer, captured))
    facts.find("drafter.input", [names[tap] for tap in captured.fed], f"all planes but the last hidden state, {label}")
    last = captured.last
    facts.find("drafter.last_hidden", "none" if last is None else names[last], _say_last(last, trainer))
    return captured


def name_taps(taps: Sequence[Tap]) -> dict[Tap, str]:
    """Name taps: embed, final, and low, mid, high where they are three, else by their boundary."""
    raw = [tap for tap in dict.fromkeys(taps) if tap.state == "raw" and tap.boundary]
    names = dict(zip(raw, _THREE if len(raw) == len(_THREE) else [f"r{tap.boundary}" for tap in raw], strict=True))
    final = [tap for tap in dict.fromkeys(taps) if tap.state != "raw"]
    for tap in final:
        names[tap] = "final" if len(final) == 1 or tap == taps[-1] else f"final_{tap.state}"
    return {tap: names.get(tap, "embed") for tap in taps}


def _find(trainer: Trainer, ids: Ids, architecture: str) -> tuple[Dialect, str]:
    """Find the dialect; where none was read for this architecture take the common one, and say so."""
    version = (ids.version or trainer.version) if find_tool(trainer.tool).versioned else None
    dialect = find_dialect(trainer.tool, version, architecture, setting=trainer.setting)
    if not isinstance(dialect, NotVerified):
        return dialect, ""
    nearest = find_dialect(trainer.tool, version, LIKE_MOST, setting=trainer.setting, assume=True)
    if isinstance(nearest, NotVerified):
        raise SubjectError(trainer.label, str(nearest), remedy="write the planes by hand: `eagle3-contracts show NAME`")
    return nearest, f"{dialect}, so the rule of most architectures"


def _split(dialect: Dialect, taps: tuple[Tap, ...], layers: int, trainer: Trainer) -> Captured:
    """Part what is fed from what targets come from: stored beside unasked, or the last of the planes."""
    if dialect.beside is not None:
        last = Tap(layers, dialect.beside)
        if last in taps:
            reason = f"{last} is fed and stored a second time as the last hidden state, which no contract can state"
            raise SubjectError(trainer.label, reason, remedy=_ids_remedy(trainer))
        return Captured(taps, last)
    if trainer.formats and len(taps) > 1:
        return Captured(taps[:-1], taps[-1])
    return Captured(taps, None)


def _plane(name: str, tap: Tap) -> dict[str, Any]:
    return {"name": name, "boundary": tap.boundary, "state": tap.state}


def _say_failure(found: Resolution, ids: Ids, label: str) -> str:
    told = "its default" if ids.listed is None else f"ids {list(ids.listed)}"
    branch = [str(tap) for tap in found.taps if tap.state == "branch"]
    why = found.note or (f"it captures {', '.join(branch)}" if branch else str(found.outcome))
    return f"{label} does not capture planes from {told}: {why}"


def _say_storage(trainer: Trainer, captured: Captured) -> str:
    if not trainer.formats:
        return f"{trainer.label} keeps no states on disk; these are the planes it feeds"
    return f"{trainer.label} stores {len(captured.fed)} planes and the last hidden state behind them"


def _say_last(last: Tap | None, trainer: Trainer) -> str:
    if last is None:
        return f"{trainer.label} trains on the target's logits"
    return f"{trainer.label} stores {last} as the last hidden state"


def _ids_remedy(trainer: Trainer) -> str:
    return f"give the ids that {trainer.label} was given: --layer-ids ID ID ID, or --draft-config with them"
