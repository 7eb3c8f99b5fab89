"""The script that serves a faulty server: it serves until it is told to end, or says in one line why it does not."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from eagle3_contracts.faults.injecting.servers import StandIn, run_server
from eagle3_contracts.faults.making import make_fault


def test_the_script_of_a_server_serves_until_it_is_told_to_end(tmp_path: Path) -> None:
    made = make_fault("server-target-as-draft", tmp_path / "made")
    with subprocess.Popen(
        [sys.executable, "serve.py", "0"], cwd=made.folder, stdout=subprocess.PIPE, text=True, env={**os.environ}
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            with urllib.request.urlopen(f"{url}/server_info", timeout=60) as answer:  # noqa: S310 (http, here)
                assert json.load(answer)["speculative_draft_model_path"].endswith("target")
        finally:
            process.terminate()


def never() -> StandIn:
    raise AssertionError("nothing is to be served")


@pytest.mark.parametrize("prefix", ["", "plain="])
def test_a_taken_port_is_named_with_what_to_type(prefix: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert run_server(StandIn, [], port, prefix) == 2
        assert run_server(StandIn, [str(port)], 1, prefix) == 2
    line, again = capsys.readouterr().err.splitlines()
    assert line == again
    assert line.startswith(f"serve.py: port {port} of 127.0.0.1 cannot be had (Address already in use); another one: ")
    assert line.endswith(
        f"python serve.py PORT, and then eagle3-contracts check ... --server {prefix}http://127.0.0.1:PORT"
    )


@pytest.mark.parametrize("arguments", [["x"], ["70000"], ["-1"], ["1", "2"], [""], ["--port"], ["\u0661"]])
def test_what_is_no_port_is_said_in_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run_server(never, arguments, 30000) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"serve.py: {' '.join(arguments)!r} is no port; usage: python serve.py [PORT]")


def test_help_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_server(never, ["--help"], 30000) == 0
    assert capsys.readouterr().out.startswith("usage: python serve.py [PORT]")


def test_the_script_gives_its_exit_code(tmp_path: Path) -> None:
    made = make_fault("server-final-before-norm", tmp_path / "made", sound=True)
    command = [sys.executable, "serve.py", "x"]
    ran = subprocess.run(command, cwd=made.folder, capture_output=True, text=True, check=False)  # noqa: S603
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (2, "", 1)
