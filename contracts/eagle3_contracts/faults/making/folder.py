"""A folder that holds one fault and says what it is, what must catch it, and by which command."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.faults.catalogue import faults_of, find_fault
from eagle3_contracts.faults.fault import Fault
from eagle3_contracts.faults.making.artifacts import Artifact, write_artifact
from eagle3_contracts.faults.making.documents import render_toml
from eagle3_contracts.faults.making.placing import MakingError, place_folder
from eagle3_contracts.faults.sources import list_links
from eagle3_contracts.findings import Level
from eagle3_contracts.registry import STAGES, clause

_DOCUMENT = "contract.toml"
_SHOULD = frozenset({"loader-silent-about-files", "dataset-sample-twice"})
"""Faults that violate a should of a clause whose other cases are a must."""


@dataclass(frozen=True, slots=True)
class MadeFault:
    """What was written. ``command``: to be run in the folder; ``exit_code``: of that command; ``first``: run before."""

    fault: Fault
    folder: Path
    sound: bool
    command: tuple[str, ...]
    exit_code: int
    first: str = ""

    def list_commands(self) -> Iterator[str]:
        """Give the lines to type into a shell, in the folder."""
        if self.first:
            yield f"{self.first} &  # go on when it says: listening on"
        yield shlex.join(self.command)

    def as_dict(self) -> dict[str, Any]:
        """Give what fault.json holds."""
        return {
            "id": self.fault.id,
            "sound": self.sound,
            "kind": str(self.fault.kind),
            "stage": self.fault.stage,
            "mechanism": self.fault.mechanism,
            "source": self.fault.source,
            "clause": self.fault.clause,
            "companions": list(self.fault.companions),
            "unchecked": list(self.fault.unchecked),
            "first": self.first,
            "command": shlex.join(self.command),
            "exit_code": self.exit_code,
        }


def make_fault(name: str, folder: Path, *, sound: bool = False) -> MadeFault:
    """Write a fault, or its sound counterpart, into a folder that is new or empty.

    ``name``: a fault's id; of a stage, with ``sound`` alone. Raises ``MakingError``.
    """
    fault = _choose(name, sound=sound)
    return place_folder(folder, lambda place: _fill(fault, place, folder, sound=sound))


def _fill(fault: Fault, place: Path, folder: Path, *, sound: bool) -> MadeFault:
    """Write into ``place`` what is to lie in ``folder``."""
    artifact = write_artifact(fault, place, sound=sound)
    made = MadeFault(fault, folder, sound, _command(fault, artifact, place), 0 if sound else 1, artifact.first)
    (place / "fault.json").write_text(json.dumps(made.as_dict(), indent=2) + "\n", encoding="utf-8")
    (place / "README.txt").write_text("\n".join(_describe(made)) + "\n", encoding="utf-8")
    return made


def _choose(name: str, *, sound: bool) -> Fault:
    if name in STAGES and sound:
        return faults_of(name)[0]
    if name in STAGES:
        raise MakingError(f"{name} is a stage", "name one of its faults, or add --sound for what is in order")
    try:
        return find_fault(name)
    except KeyError:
        raise MakingError(f"no fault {name!r}", "`eagle3-contracts faults` lists them") from None


def _command(fault: Fault, artifact: Artifact, folder: Path) -> tuple[str, ...]:
    """Give the command; the contract is written where it is not the catalog's own."""
    reference = CONTRACT
    if artifact.contract.digest != load_contract(CONTRACT).digest:
        reference = _DOCUMENT
        (folder / _DOCUMENT).write_text(render_toml(artifact.contract), encoding="utf-8")
    strict = ("--strict",) if clause(fault.clause).level is Level.SHOULD or fault.id in _SHOULD else ()
    return ("eagle3-contracts", "check", reference, *artifact.arguments, *strict)


def _describe(made: MadeFault) -> Iterator[str]:
    fault = made.fault
    yield f"{'The sound counterpart of' if made.sound else 'A fault:'} {fault.id}"
    yield ""
    told = {
        "kind": str(fault.kind),
        "mechanism": fault.mechanism,
        "seen in": fault.source,
        "links": " ".join(list_links(fault.source)),
        "caught by": f"{fault.clause}: {clause(fault.clause).sentence}",
        "along with": ", ".join(fault.companions),
        "unchecked": ", ".join(fault.unchecked),
    }
    for name, text in told.items():
        if text:
            yield textwrap.fill(
                text,
                100,
                initial_indent=f"{name:<12}",
                subsequent_indent=" " * 12,
                break_long_words=False,
                break_on_hyphens=False,
            )
    yield from ("", "Run in this folder:")
    yield from (f"    {line}" for line in made.list_commands())
    end = "0: nothing is violated" if made.sound else f"{made.exit_code}: {fault.clause} is violated"
    yield from ("", f"Its exit code is {end}.")
