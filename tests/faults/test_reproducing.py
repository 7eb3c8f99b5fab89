"""Every fault has a reproducer that runs without this project: 1 for the fault, 0 for the side that is in order."""

from __future__ import annotations

import ast
import base64
import json
import lzma
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from eagle3_contracts.cli import main
from eagle3_contracts.faults import Fault, faults_of, find_fault, list_faults
from eagle3_contracts.faults.making import MakingError
from eagle3_contracts.faults.reproducing import compose_reproducer, reproduce_fault
from eagle3_contracts.faults.reproducing.recording import Sides
from eagle3_contracts.faults.reproducing.reducing import pack, reduce_sides
from eagle3_contracts.faults.reproducing.standalone.showing import unpack
from eagle3_contracts.registry import STAGES
from support.made_faults import check_made
from support.snapshots import compare_snapshot

NAMED = {"ids": lambda fault: fault.id}
SNAPSHOTS = Path(__file__).with_name("snapshots")
RUNNER = Path(__file__).parents[1] / "support" / "run_reproducers.py"
MOST_BYTES = 300_000
ALLOWED = {*sys.stdlib_module_names, "torch"}


@cache
def compose(fault_id: str) -> str:
    return compose_reproducer(find_fault(fault_id), check_made(fault_id).of_clause())


@cache
def run_stage(stage: str) -> dict[str, Any]:
    """Run the reproducers of a stage, both ways, in one process that cannot import this project."""
    with tempfile.TemporaryDirectory() as scratch:
        for fault in faults_of(stage):
            (Path(scratch) / f"{fault.id}.py").write_text(compose(fault.id), encoding="utf-8")
        command = [sys.executable, "-I", str(RUNNER), scratch]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)  # noqa: S603
    assert ran.returncode == 0, ran.stderr
    told: dict[str, Any] = json.loads(ran.stdout)
    return told


@pytest.mark.parametrize("fault", list_faults(), **NAMED)
def test_a_reproducer_shows_the_fault_and_nothing_without_it(fault: Fault) -> None:
    told = run_stage(fault.stage)
    (faulty, shown), (sound, silent) = told[fault.id]
    assert (faulty, sound) == (1, 0), shown + silent
    assert silent == "0 differences\n"
    assert len(shown.splitlines()) > 1
    assert told["imported"] == [[]]


@pytest.mark.parametrize("fault", list_faults(), **NAMED)
def test_a_reproducer_is_small_and_stands_alone(fault: Fault) -> None:
    text = compose(fault.id)
    assert len(text.encode()) < MOST_BYTES
    nodes = list(ast.walk(ast.parse(text)))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= ALLOWED
    assert fault.id in text
    packed = text.partition('PACKED = r"""')[2].partition('"""')[0]
    data = lzma.decompress(base64.b85decode("".join(packed.split()))) + text.encode()
    assert str(Path(__file__).parents[2]).encode() not in data, "a path of this machine"
    assert b"/tmp/" not in data


@pytest.mark.parametrize("stage", STAGES)
def test_what_a_reproducer_says(stage: str) -> None:
    fault = faults_of(stage)[-1]
    head = ast.get_docstring(ast.parse(compose(fault.id)), clean=False)
    compare_snapshot(SNAPSHOTS / f"repro-{stage}.txt", f"{head}\n{run_stage(stage)[fault.id][0][1]}")


@pytest.mark.parametrize("fault_id", ["dataset-planes-permuted", "server-hangs", "launch-drafts-2-of-16"])
def test_the_command_writes_what_the_clause_says(fault_id: str, tmp_path: Path) -> None:
    out = tmp_path / "repro.py"
    assert main(["faults", "repro", fault_id, "--out", str(out)]) == 0
    said = " ".join(check_made(fault_id).of_clause().observed.split())
    assert said in " ".join(out.read_text().split())
    assert main(["faults", "repro", fault_id, "--out", str(out)]) == 2


def test_the_command_prints_without_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "repro", "document-no-tolerance"]) == 0
    assert ast.parse(capsys.readouterr().out)


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(MakingError, match="no fault 'golden-nothing'"):
        reproduce_fault("golden-nothing")


def test_what_is_packed_is_unpacked() -> None:
    sides = Sides({"a/b.json": b"1", "c": b""}, {"c": b"\n2"})
    assert unpack(base64.b85encode(pack(sides)).decode()) == {"sound": sides.sound, "faulty": sides.faulty}


def test_what_both_sides_share_is_left_out() -> None:
    sides, left_out = reduce_sides(Sides({"same": b"1", "gone": b"2"}, {"same": b"1", "new": b"3"}))
    assert (sides.sound, sides.faulty, left_out) == ({"gone": b"2"}, {"new": b"3"}, [])
