"""Servers in a run of pytest: listing asks none, one worker holds all of one's cases, and a dead one is told once."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.registry import clauses_of

REPOSITORY = Path(__file__).resolve().parents[2]
COUNT = len(clauses_of("server"))


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/contract/test_server.py", *options]
    return subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)  # noqa: S603


def test_listing_asks_no_server() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.2)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        listed = run("--co", "-q", "--contract", CONTRACT, f"--contract-server={url}")
        try:
            listening.accept()
        except TimeoutError:
            asked = False
        else:
            asked = True
    assert listed.stdout.count("test_clause[server.") == COUNT
    assert not asked


def test_a_server_that_is_gone_fails_every_clause_and_passes_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    ended = run("-n", "2", "--dist", "loadfile", "--contract", CONTRACT, f"--contract-server={url}")
    assert ended.returncode == 1
    assert f"{COUNT} failed" in ended.stdout
    assert "FAILED server.reachable (must)" in ended.stdout
    assert ended.stdout.count("COULD NOT CHECK server.") >= COUNT - 1
    workers = {line.split("]")[0] for line in ended.stdout.splitlines() if line.startswith("[gw") and "Python" in line}
    assert len(workers) == 1, "all cases of one server belong to one worker"


def test_without_a_server_its_clauses_say_what_to_give() -> None:
    ended = run("-rs", "--contract-subject=embedded")
    assert f"{COUNT} skipped" in ended.stdout
    assert "--contract-server URL|launch" in ended.stdout
    assert "tox -e sglang-cpu" in ended.stdout


def test_a_secret_in_the_url_ends_the_run_before_it_begins() -> None:
    refused = run("--contract", CONTRACT, "--contract-server=http://me:hunter2@127.0.0.1:1")
    assert refused.returncode == 4
    assert "hunter2" not in refused.stdout + refused.stderr
    assert "EAGLE3_SERVER_API_KEY" in refused.stderr
