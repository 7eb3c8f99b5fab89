"""What to start: the command and the environment of an SGLang server that a contract can be checked on."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.servers.launching.capturing import capture_flags
from eagle3_contracts.subjects.servers.launching.device import device_here

if TYPE_CHECKING:
    from eagle3_contracts.contract import Contract
    from eagle3_contracts.evidence.server import ServerRole

STAND_IN = "EAGLE3_CONTRACTS_SGL_KERNEL"
"""The variable that names a folder with a stand-in for ``sgl_kernel``, for SGLang on a CPU; the package brings none."""

PORT = "{port}"
"""Stands in a plan's command for the port, which is chosen at the start."""

BATCH, CACHED_TOKENS, LONGEST = 16, 16384, 4096
"""Requests at once, tokens in the cache, and the longest context: enough for tests, on a GPU that others use too."""

DRAFT_TOKENS = 4
"""Draft tokens where the contract names no minimum; a chain of one less, and the target's own."""

GIB = 1 << 30
START_LIMITS = {"cpu": 360.0, "cuda": 480.0}
"""Seconds until the server must answer; most of them go into imports, and a busy machine multiplies them."""


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """A server to start.

    ``environment``: set on top of the test's own. ``draft_tokens``: what the command asks for. ``stand_ins``: what in
    the server is not the engine's own, for every report. ``start_limit``: seconds until it must answer.
    ``memory_limit``: bytes that all its processes may hold together, or None.
    """

    role: ServerRole
    device: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    draft_tokens: int | None = None
    stand_ins: tuple[str, ...] = ()
    start_limit: float = START_LIMITS["cpu"]
    memory_limit: int | None = None

    @property
    def key(self) -> str:
        """Give a name that two plans share if, and only if, they start the same server."""
        said = json.dumps([self.command, sorted(self.environment.items())])
        return hashlib.sha256(said.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        """Write the command as one would type it; what the environment holds beside it is not told."""
        return shlex.join(self.command)


def plan_launch(
    contract: Contract,
    target: Path,
    draft: Path | None,
    role: ServerRole,
    *,
    device: str | None = None,
    dtype: str | None = None,
    flags: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> LaunchPlan:
    """Plan a server of a contract's target.

    ``role``: ``eagle3`` drafts with ``draft``, ``capture`` returns the planes of ``drafter.input`` and loads no
    drafter (SGLang 0.5.23 and later), ``plain`` does neither. ``device``: ``cpu`` or ``cuda``, else what is here.
    ``dtype``: float32 on a CPU, else the contract's. ``flags`` come last, and so win. Radix cache and chunked prefill
    are off, since both lose rows of hidden states in silence. Raises ``SubjectError`` where no such server can start.
    """
    device = device or device_here()
    release = _installed()
    stand_in = _find_stand_in() if device == "cpu" else None
    kind, draft_tokens = _role_flags(contract, draft, role, release)
    dtype = dtype or ("float32" if device == "cpu" else contract.target.dtype)
    command = (
        *(sys.executable, "-m", "sglang.launch_server", "--model-path", str(target)),
        *("--host", "127.0.0.1", "--port", PORT, "--device", device, "--dtype", dtype, "--skip-tokenizer-init"),
        *("--disable-radix-cache", "--chunked-prefill-size", "-1", "--enable-return-hidden-states"),
        *("--max-running-requests", str(BATCH), *_device_flags(contract, role, device), *kind, *flags),
    )
    cpu = device == "cpu"
    return LaunchPlan(
        role=role,
        device=device,
        command=command,
        environment={**_environment(stand_in, on_cpu=cpu), **(environment or {})},
        draft_tokens=draft_tokens,
        stand_ins=(f"sgl_kernel: {stand_in}",) if stand_in else (),
        start_limit=START_LIMITS.get(device, START_LIMITS["cuda"]),
        memory_limit=8 * GIB + 6 * _weights(target, draft) if cpu else None,
    )


def _installed() -> str:
    try:
        return version("sglang")
    except PackageNotFoundError:
        remedy = (
            f"install it for {sys.executable} (this repository: `tox -e sglang-cpu`, `tox -e gpu`), "
            "or start the server yourself and give its URL"
        )
        raise SubjectError("launch", "SGLang is not installed here", remedy=remedy) from None


def _find_stand_in() -> Path | None:
    """Find what stands in for ``sgl_kernel``; None if the real one is installed."""
    named = os.environ.get(STAND_IN, "")
    if named:
        if (Path(named) / "sgl_kernel" / "__init__.py").is_file():
            return Path(named).resolve()
        raise SubjectError(named, "holds no package sgl_kernel", remedy=f"correct {STAND_IN}, or unset it")
    if find_spec("sgl_kernel") is not None:
        return None
    reason = "SGLang on a CPU imports sgl_kernel, which is not installed; PyPI has its CUDA build alone"
    remedy = (
        "build it from SGLang's sources (sgl-kernel, CPU), or name a folder that holds a stand-in with "
        f"{STAND_IN}=FOLDER (this repository has one: tests/support/sgl_kernel_stand_in)"
    )
    raise SubjectError("launch", reason, remedy=remedy)


def _role_flags(contract: Contract, draft: Path | None, role: ServerRole, release: str) -> tuple[list[str], int | None]:
    if role == "plain":
        return [], None
    if role == "capture":
        return capture_flags(contract, release), None
    if draft is None:
        remedy = "name it with --contract-checkpoint, or launch:capture, which needs none"
        raise SubjectError("launch:eagle3", "no drafter is named", remedy=remedy)
    tokens = max(DRAFT_TOKENS, contract.serving.min_draft_tokens if contract.serving else 0)
    drafting = {
        "--speculative-algorithm": "EAGLE3",
        "--speculative-draft-model-path": str(draft),
        "--speculative-num-steps": str(tokens - 1),
        "--speculative-eagle-topk": "1",
        "--speculative-num-draft-tokens": str(tokens),
    }
    return [word for pair in drafting.items() for word in pair], tokens


def _device_flags(contract: Contract, role: ServerRole, device: str) -> list[str]:
    """Give the context and the size of the cache, and what a CPU needs.

    EAGLE has one backend there, intel_amx, and only the flags for prefill and decode name it without a check of the
    machine (server_args.py, 0.5.20 to 0.5.23: ``attention_backend`` alone falls back to torch_native without AMX).
    Without ``--sleep-on-idle`` a scheduler that waits takes a whole core.
    """
    promised = contract.serving.context_length if contract.serving else None
    context = min(promised or LONGEST, contract.drafter.max_position, LONGEST)
    sizes = ["--context-length", str(context), "--max-total-tokens", str(CACHED_TOKENS)]
    if device != "cpu":
        return sizes
    amx = ["--prefill-attention-backend", "intel_amx", "--decode-attention-backend", "intel_amx"]
    native = ["--attention-backend", "torch_native", "--disable-overlap-schedule"]
    return [
        *(*sizes, "--mem-fraction-static", "0.3"),
        *("--disable-cuda-graph", "--sleep-on-idle", *(amx if role == "eagle3" else native)),
    ]


def _environment(stand_in: Path | None, *, on_cpu: bool) -> dict[str, str]:
    """Set what keeps the server to itself: no download, no plugin; on a CPU one thread for each of its processes."""
    common = {"HF_HUB_OFFLINE": "1", "SGLANG_PLUGINS": "none"}
    if not on_cpu:
        return common
    kept = os.environ.get("PYTHONPATH", "")
    path = {"PYTHONPATH": os.pathsep.join(filter(None, (str(stand_in), kept)))} if stand_in else {}
    threads = os.environ.get("OMP_NUM_THREADS", "1")
    return {**common, "SGLANG_USE_CPU_ENGINE": "1", "OMP_NUM_THREADS": threads, **path}


def _weights(*folders: Path | None) -> int:
    return sum(file.stat().st_size for folder in folders if folder for file in folder.glob("*.safetensors"))
