"""Real SGLang servers with the guard's plugin, each under the package's supervisor for as long as its tests take."""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.subjects.servers.launching import LaunchPlan, NotStartedError, share

PLUGIN = "eagle3_contracts"
STAND_IN = Path(__file__).resolve().parent / "sgl_kernel_stand_in"
# fmt: off
FLAGS = (
    "--host", "127.0.0.1", "--port", "{port}", "--device", "cpu", "--dtype", "float32", "--skip-tokenizer-init",
    "--disable-cuda-graph", "--sleep-on-idle", "--max-total-tokens", "4096", "--context-length", "2048",
    "--max-running-requests", "4", "--mem-fraction-static", "0.2", "--prefill-attention-backend", "intel_amx",
    "--decode-attention-backend", "intel_amx", "--speculative-algorithm", "EAGLE3", "--speculative-eagle-topk", "1",
)
# fmt: on


@dataclass(frozen=True)
class Guarded:
    """A server that was started: where it answers, or why it never did, and what it has written so far."""

    url: str
    refused: str
    log: Path

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def generate(self, tokens: list[int], count: int) -> dict[str, Any]:
        """Ask for some tokens."""
        asked = {"input_ids": tokens, "sampling_params": {"temperature": 0, "max_new_tokens": count}}
        request = urllib.request.Request(  # noqa: S310 (of a server started here)
            f"{self.url}/generate", data=json.dumps(asked).encode(), headers={"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            found: dict[str, Any] = json.load(answer)
        return found


def plan_guarded(draft: str, *flags: str, plugins: str = PLUGIN, variables: Mapping[str, str]) -> LaunchPlan:
    """Plan a server with a draft, as one would serve it: it returns no hidden states.

    ``variables``: of its environment, the guard's own among them; those that the tests' own environment holds are
    left out.
    """
    foreign = [name for name in os.environ if name.startswith("EAGLE3_CONTRACT")]
    unset = [word for name in foreign if name not in variables for word in ("-u", name)]
    server = [sys.executable, "-m", "sglang.launch_server", "--model-path", str(embedded_target()), *FLAGS]
    path = [str(STAND_IN), *filter(None, [variables.get("PYTHONPATH"), os.environ.get("PYTHONPATH")])]
    environment = {
        **variables,
        "PYTHONPATH": os.pathsep.join(path),
        "SGLANG_USE_CPU_ENGINE": "1",
        "SGLANG_PLUGINS": plugins,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    command = ("env", *unset, *server, "--speculative-draft-model-path", draft, *flags)
    return LaunchPlan("eagle3", "cpu", command, environment)


@contextmanager
def hold(plan: LaunchPlan, folder: Path) -> Iterator[Guarded]:
    """Start a server and wait until it answers or has refused to serve; it ends with the block."""
    log = folder / f"server-{plan.key}" / "server.log"
    try:
        server = share(plan, folder)
    except NotStartedError as error:
        yield Guarded("", error.reason, log)
        return
    with server:
        yield Guarded(server.url, "", log)
