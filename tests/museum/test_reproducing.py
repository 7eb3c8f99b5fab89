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
import torch

from eagle3_contracts.cli import main
from eagle3_contracts.embedded import NAME, VERSION, golden_root
from eagle3_contracts.faults import faults_of, find_fault
from eagle3_contracts.faults.making import MakingError
from eagle3_contracts.faults.reproducing import compose_reproducer, reproduce_fault
from eagle3_contracts.faults.reproducing.judging import find_violation
from eagle3_contracts.faults.reproducing.recording import Sides
from eagle3_contracts.faults.reproducing.reducing import pack, reduce_sides
from eagle3_contracts.faults.reproducing.standalone.reading import decode
from eagle3_contracts.faults.reproducing.standalone.showing import unpack
from eagle3_contracts.registry import STAGES
from eagle3_contracts.subjects.goldens import gathering
from support.made_faults import check_made
from support.snapshots import compare_snapshot

SNAPSHOTS = Path(__file__).with_name("snapshots")
RUNNER = Path(__file__).parents[1] / "support" / "run_reproducers.py"
SHOWN = {
    "contract": "document-positions-too-few",
    "capture": "capture-keys-left-over",
    "dataset": "dataset-last-state-disturbed",
    "loader": "loader-vocabulary-ignored",
    "checkpoint": "checkpoint-head-shards-swapped",
    "launch": "launch-ids-read-one-late",
    "server": "server-misstates-accept-length",
    "golden": "golden-rope-of-another-base",
}
"""One fault of each stage, whose reproducer is kept as a text."""
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


@pytest.mark.parametrize("stage", STAGES)
def test_reproducers_show_the_fault_and_nothing_without_it(stage: str) -> None:
    """One test for a stage, since its reproducers run in one process."""
    told = run_stage(stage)
    assert told.pop("imported") == [[]]
    assert set(told) == {fault.id for fault in faults_of(stage)}
    for (faulty, shown), (sound, silent) in told.values():
        assert (faulty, sound, silent) == (1, 0, "0 differences\n"), shown + silent
        assert len(shown.splitlines()) > 1
    for fault in faults_of(stage):
        assert_small_and_alone(compose(fault.id))
    head = ast.get_docstring(ast.parse(compose(SHOWN[stage])), clean=False)
    compare_snapshot(SNAPSHOTS / f"repro-{stage}.txt", f"{head}\n{told[SHOWN[stage]][0][1]}")


@pytest.mark.parametrize("arguments", [[], ["--sound"]])
def test_a_python_without_torch_shows_nothing(arguments: list[str], tmp_path: Path) -> None:
    """``-S`` leaves out what is installed."""
    (tmp_path / "repro.py").write_text(compose(SHOWN["dataset"]), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(tmp_path / "repro.py"), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "states/data_0.pt: needs torch: pip install torch\n")


def assert_small_and_alone(text: str) -> None:
    assert len(text.encode()) < MOST_BYTES
    nodes = list(ast.walk(ast.parse(text)))
    imported = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= ALLOWED
    once = [node.module for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    assert len(once) == len(set(once))
    assert "\n\n\n\n" not in text
    packed = text.partition('PACKED = r"""')[2].partition('"""')[0]
    data = lzma.decompress(base64.b85decode("".join(packed.split()))) + text.encode()
    assert str(Path(__file__).parents[2]).encode() not in data, "a path of this machine"
    assert tempfile.gettempdir().encode() + b"/" not in data, "a path of this machine"


@pytest.mark.parametrize("fault_id", ["dataset-planes-permuted", "server-hangs", "launch-drafts-2-of-16"])
def test_the_command_writes_what_the_clause_says(fault_id: str, tmp_path: Path) -> None:
    out = tmp_path / "repro.py"
    assert main(["faults", "repro", fault_id, "--out", str(out)]) == 0
    said = " ".join(check_made(fault_id).of_clause().observed.split())
    assert said in " ".join(out.read_text().split())
    assert main(["faults", "repro", fault_id, "--out", str(out)]) == 2


@pytest.mark.parametrize("out", [[], ["--out", "-"]])
def test_the_command_prints_without_a_file(out: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["faults", "repro", "document-no-tolerance", *out]) == 0
    text = capsys.readouterr().out
    assert ast.parse(text)
    assert main(["faults", "repro", "document-no-tolerance", *out, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"id": "document-no-tolerance", "text": text}


def test_a_folder_that_is_not_there_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "no" / "such" / "x.py"
    assert main(["faults", "repro", "document-no-tolerance", "--out", str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"eagle3-contracts: {out.parent}: is no folder\n")


def test_what_is_installed_here_is_not_what_a_reproducer_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = json.loads((golden_root() / NAME / VERSION / "manifest.json").read_text())["versions"]
    monkeypatch.setattr(gathering, "installed_versions", lambda names: dict.fromkeys(names, "0.0.1"))
    observed = find_violation(find_fault("golden-by-other-tools")).observed
    assert observed == f"recorded with torch 1.13.1, here is {recorded['torch']}"


def test_an_unknown_fault_is_named() -> None:
    with pytest.raises(MakingError, match="no fault 'golden-nothing'"):
        reproduce_fault("golden-nothing")


@pytest.mark.parametrize(("name", "dtype"), [("F8_E4M3", torch.float8_e4m3fn), ("F8_E5M2", torch.float8_e5m2)])
def test_every_byte_of_float8_is_read_as_torch_reads_it(name: str, dtype: torch.dtype) -> None:
    wanted = torch.arange(256, dtype=torch.uint8).view(dtype).double()
    torch.testing.assert_close(
        torch.tensor(decode(name, bytes(range(256))), dtype=torch.float64), wanted, equal_nan=True
    )


def test_what_is_packed_is_unpacked() -> None:
    sides = Sides({"a/b.json": b"1", "c": b""}, {"c": b"\n2"})
    assert unpack(base64.b85encode(pack(sides)).decode()) == {"sound": sides.sound, "faulty": sides.faulty}


def test_little_memory_is_needed_to_unpack_what_is_small() -> None:
    packed = pack(Sides({"a": bytes(1000)}, {"a": bytes(1001)}))
    assert lzma.LZMADecompressor(memlimit=1 << 20).decompress(packed).endswith(bytes(2001))


def test_what_both_sides_share_is_left_out() -> None:
    sides, left_out = reduce_sides(Sides({"same": b"1", "gone": b"2"}, {"same": b"1", "new": b"3"}))
    assert (sides.sound, sides.faulty, left_out) == ({"gone": b"2"}, {"new": b"3"}, [])
