"""Real SGLang servers with the guard's plugin, each in a session of its own that is ended with the tests."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eagle3_contracts.embedded import embedded_target

PLUGIN = "eagle3_contracts"
STAND_IN = Path(__file__).resolve().parent / "sgl_kernel_stand_in"
WAIT = 240
# fmt: off
FLAGS = [
    "--device", "cpu", "--dtype", "float32", "--host", "127.0.0.1", "--skip-tokenizer-init", "--disable-cuda-graph",
    "--max-total-tokens", "4096", "--context-length", "2048", "--max-running-requests", "4",
    "--mem-fraction-static", "0.2", "--prefill-attention-backend", "intel_amx",
    "--decode-attention-backend", "intel_amx", "--speculative-algorithm", "EAGLE3", "--speculative-eagle-topk", "1",
]
# fmt: on


@dataclass
class Server:
    """One server: its process, where it answers, and what it has written so far."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def wait(self) -> int | None:
        """Wait until it answers (None) or has ended (its exit code)."""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                return self.process.returncode
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return None
            except (urllib.error.URLError, OSError):
                pass
            time.sleep(0.5)
        raise AssertionError(f"neither up nor ended after {WAIT} s:\n{self.said[-4000:]}")

    def generate(self, tokens: list[int], count: int) -> dict[str, Any]:
        """Ask for some tokens."""
        asked = {"input_ids": tokens, "sampling_params": {"temperature": 0, "max_new_tokens": count}}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/generate",
            data=json.dumps(asked).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
        return found

    def end(self) -> None:
        """End the whole session; the children of a server that has died are in it too."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=30)


def start(draft: str, log: Path, *flags: str, plugins: str = PLUGIN, variables: Mapping[str, str]) -> Server:
    """Start a server with a draft; ``variables``: of its environment, the guard's own among them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EAGLE3_CONTRACT")} | variables
    path = [str(STAND_IN), *([kept["PYTHONPATH"]] if kept.get("PYTHONPATH") else [])]
    environment = kept | {
        "PYTHONPATH": os.pathsep.join(path),
        "SGLANG_USE_CPU_ENGINE": "1",
        "SGLANG_PLUGINS": plugins,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(embedded_target()), *FLAGS]
    command += ["--speculative-draft-model-path", draft, "--port", str(port), *flags]
    with log.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603 (our own interpreter)
            command,
            env=environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Server(process, port, log)
