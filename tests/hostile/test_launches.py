"""Launch files that mean harm, or are none: read within bounds, never run, and never passed."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.findings import Verdict
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.launches.reading import MOST_BYTES, read_launch

SERVER = "python -m sglang.launch_server --model-path m"
DEEP = 20_000
SECONDS = 5
"""Of the processor, since the machine may be busy; the largest file here takes a tenth of that."""


def judge(path: Path) -> set[Verdict]:
    report = check(load_contract(CONTRACT), [Subject("launch", str(path), "hostile")], Options())
    return {item.verdict for item in report.findings if item.stage == "launch"}


@pytest.mark.parametrize(
    "data",
    [
        b"#" * (MOST_BYTES + 1),
        b"\x7fELF\x02\x01\x01" + bytes(64),
        b"\xff\xfe" + SERVER.encode("utf-16-le"),
        SERVER.encode() + b"\0",
        b"",
        (SERVER + " 'x").encode(),
        (SERVER + ' "$(').encode(),
        (SERVER + " ${" * DEEP).encode(),
        ("$(" * DEEP).encode(),
        ("<" * DEEP).encode(),
    ],
    ids=[
        "huge",
        "binary",
        "utf-16",
        "zero byte",
        "empty",
        "quote",
        "substitution",
        "braces",
        "parentheses",
        "redirected",
    ],
)
def test_what_is_no_launch_file_fails_and_passes_nothing(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "serve.sh"
    path.write_bytes(data)
    started = time.process_time()
    assert Verdict.PASSED not in judge(path)
    assert time.process_time() - started < SECONDS


def test_nothing_in_it_is_run(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    path = tmp_path / "serve.sh"
    path.write_text(f"{SERVER} --tp $(touch {witness}) `touch {witness}`; touch {witness}\n", encoding="utf-8")
    judge(path)
    assert not witness.exists()


@pytest.mark.parametrize("name", ["nested.json", "nested.yaml"])
def test_nesting_ends(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(
        "[" * DEEP + "]" * DEEP if name.endswith("json") else "a:\n  command: " + "[" * DEEP, encoding="utf-8"
    )
    assert Verdict.PASSED not in judge(path)


def test_many_arguments_are_read_in_time(tmp_path: Path) -> None:
    path = tmp_path / "serve.sh"
    path.write_text(SERVER + " --tp 1" * 20_000, encoding="utf-8")
    started = time.process_time()
    assert len(read_launch("x", str(path)).arguments) == 20_001
    assert time.process_time() - started < SECONDS


def test_a_variable_that_doubles_itself_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "serve.sh"
    lines = ["A=aaaaaaaaaaaaaaaa"] + ["A=$A$A"] * 40
    path.write_text("\n".join([*lines, f"{SERVER} --tp $A"]), encoding="utf-8")
    assert Verdict.PASSED not in judge(path)


@pytest.mark.parametrize(
    "content", ["[" * DEEP, "[]", '{"architectures": 3, "eagle_config": []}', json.dumps({"dtype": {}})]
)
def test_a_strange_config_is_no_crash(tmp_path: Path, content: str) -> None:
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "config.json").write_text(content, encoding="utf-8")
    path = tmp_path / "serve.sh"
    path.write_text(f"{SERVER} --speculative-algorithm EAGLE3 --speculative-draft-model-path ./draft", encoding="utf-8")
    assert judge(path) & {Verdict.FAILED, Verdict.ERRORED}


def test_a_config_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    import os

    (tmp_path / "draft").mkdir()
    os.mkfifo(tmp_path / "draft" / "config.json")
    path = tmp_path / "serve.sh"
    path.write_text(f"{SERVER} --speculative-draft-model-path ./draft", encoding="utf-8")
    assert Verdict.PASSED in judge(path)


def test_many_unknown_flags_are_told_in_time(tmp_path: Path) -> None:
    path = tmp_path / "serve.sh"
    path.write_text(SERVER + "".join(f" --x{number}" for number in range(20_000)), encoding="utf-8")
    started = time.process_time()
    assert Verdict.FAILED in judge(path)
    assert time.process_time() - started < SECONDS
