"""Without a CUDA device the tests on a GPU end in one sentence, and nothing passes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_run_fails_and_says_why_once(tmp_path: Path) -> None:
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    found = subprocess.run(  # noqa: S603
        [
            sys.executable,
            "-m",
            "pytest",
            "tests/live/gpu",
            "-q",
            "-p",
            "no:cacheprovider",
            "--gpu-evidence",
            tmp_path / "e",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={key: value for key, value in environment.items() if not key.startswith("PYTEST_")},
        check=False,
    )
    assert found.returncode == 1, found.stdout + found.stderr
    told = [line for line in (found.stdout + found.stderr).splitlines() if "No CUDA device" in line]
    assert len(told) == 1
    assert "CUDA_VISIBLE_DEVICES='' hides every device; the tests on a GPU need one, so nothing was checked." in told[0]
    assert " passed" not in found.stdout
    assert not (tmp_path / "e").exists()
