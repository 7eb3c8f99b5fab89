"""The faulty thing itself, stage by stage: files, or code that carries the fault, and how ``check`` is told of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.faults.fault import Fault

PORT = 30000
"""Where a faulty server listens unless it is told otherwise: SGLang's own port."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """What was written into a folder, and what it is to be held against.

    ``arguments``: of ``check``, relative to the folder. ``first``: what must run first, and go on running.
    """

    contract: Contract
    arguments: tuple[str, ...] = ()
    first: str = ""


def write_artifact(fault: Fault, folder: Path, *, sound: bool) -> Artifact:
    """Write the fault, or its sound counterpart, into an empty folder; ``KeyError`` for an unknown stage."""
    return _WRITERS[fault.stage](fault, folder, sound)


def _write_document(fault: Fault, _: Path, sound: bool) -> Artifact:  # noqa: FBT001
    from eagle3_contracts.faults.injecting.documents import inject_document

    contract = load_contract(CONTRACT)
    return Artifact(contract if sound else inject_document(fault.id, contract))


def _write_capture(fault: Fault, folder: Path, sound: bool) -> Artifact:  # noqa: FBT001
    source = ("subjects.captures.embedded", "open_embedded_capture", "")
    if not sound:
        source = ("faults.injecting.captures", "inject_capture", f'"{fault.id}", ')
    module, name, argument = source
    text = f'''"""A capture to check: --contract-capture capture.py:capture"""

from eagle3_contracts.contract import load_contract
from eagle3_contracts.{module} import {name}

capture = {name}({argument}load_contract("{CONTRACT}"))
'''
    (folder / "capture.py").write_text(text, encoding="utf-8")
    return Artifact(load_contract(CONTRACT), ("--capture", "capture.py:capture", *_target(folder)))


def _write_loader(fault: Fault, folder: Path, sound: bool) -> Artifact:  # noqa: FBT001
    from eagle3_contracts.faults.injecting.loaders import inject_loader

    name = "sound_loader" if sound else "inject_loader"
    text = f'''"""A training loader to check: --contract-loader loader.py:factory"""

from eagle3_contracts.contract import load_contract
from eagle3_contracts.faults.injecting.loaders import {name}

_, factory = {name}("{fault.id}", load_contract("{CONTRACT}"))
'''
    (folder / "loader.py").write_text(text, encoding="utf-8")
    return Artifact(inject_loader(fault.id, load_contract(CONTRACT))[0], ("--loader", "loader.py:factory"))


def _write_dataset(fault: Fault, folder: Path, sound: bool) -> Artifact:  # noqa: FBT001
    from eagle3_contracts.faults.injecting.datasets import inject_dataset, write_sound_dataset

    write = write_sound_dataset if sound else inject_dataset
    contract, _ = write(fault.id, load_contract(CONTRACT), folder / "states")
    return Artifact(contract, ("--hidden-states", "states", *_target(folder)))


def _write_checkpoint(fault: Fault, folder: Path, sound: bool) -> Artifact:  # noqa: FBT001
    from eagle3_contracts.faults.injecting.checkpoints import inject_checkpoint, write_sound_checkpoint

    write = write_sound_checkpoint if sound else inject_checkpoint
    contract, _ = write(fault.id, load_contract(CONTRACT), folder / "drafter")
    return Artifact(contract, ("--checkpoint", "drafter", *_target(folder)))


def _write_launch(fault: Fault, folder: Path, sound: bool) -> Artifact:  # noqa: FBT001
    from eagle3_contracts.faults.injecting.launches import Launch, inject_launch

    contract = load_contract(CONTRACT)
    if sound:
        contract = Launch(contract, folder / "launch").contract
    else:
        contract, _ = inject_launch(fault.id, contract, folder / "launch")
    return Artifact(contract, ("--launch", "launch/serve.sh"))


def _write_golden(fault: Fault, folder: Path, sound: bool) -> Artifact:  # noqa: FBT001
    from eagle3_contracts.faults.injecting.goldens import Recording, inject_golden

    contract = load_contract(CONTRACT)
    if sound:
        Recording(contract, folder / "recording").write()
    else:
        contract, _ = inject_golden(fault.id, contract, folder / "recording")
    return Artifact(contract, ("--golden", "recording"))


def _write_server(fault: Fault, folder: Path, sound: bool) -> Artifact:  # noqa: FBT001
    from eagle3_contracts.faults.injecting.servers.deforming import PLAIN_FAULTS

    plain = fault.id in PLAIN_FAULTS
    made = f'StandIn(role="{"plain" if plain else "eagle3"}")' if sound else f'deform("{fault.id}")'
    prefix = "plain=" if plain else ""
    text = f'''"""A stand-in for an SGLang server; run it: python serve.py [PORT]

It answers on 127.0.0.1 with what this package computes of its tiny target and drafter, until it is interrupted.
"""

import sys

from eagle3_contracts.faults.injecting.servers import {"StandIn" if sound else "deform"}, run_server

PORT = {PORT}


def stand_in():
    return {made}


if __name__ == "__main__":
    sys.exit(run_server(stand_in, sys.argv[1:], PORT{f', "{prefix}"' if prefix else ""}))
'''
    (folder / "serve.py").write_text(text, encoding="utf-8")
    return Artifact(load_contract(CONTRACT), ("--server", f"{prefix}http://127.0.0.1:{PORT}"), "python serve.py")


def _target(folder: Path) -> tuple[str, str]:
    """Copy the embedded target, so that the folder can be taken elsewhere."""
    shutil.copytree(embedded_target(), folder / "target")
    return "--target", "target"


_WRITERS: dict[str, Callable[[Fault, Path, bool], Artifact]] = {
    "contract": _write_document,
    "capture": _write_capture,
    "dataset": _write_dataset,
    "loader": _write_loader,
    "checkpoint": _write_checkpoint,
    "launch": _write_launch,
    "server": _write_server,
    "golden": _write_golden,
}
