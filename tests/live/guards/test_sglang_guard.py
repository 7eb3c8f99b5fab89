"""The guard inside real SGLang servers: it refuses the story's two causes at start, warns where it is told to, and
costs no request anything.

Real: SGLang with its plugins, processes and loaders, the embedded target and its trained drafter. Stand-in: sgl_kernel
(tests/support/sgl_kernel_stand_in), which no guard looks at.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from safetensors.torch import load_file

from support.guarded_servers import Server

pytestmark = [
    pytest.mark.live,
    pytest.mark.xdist_group("guards"),
    pytest.mark.skipif(
        find_spec("sglang") is None, reason="a real SGLang server is needed: pip install tox, then `tox -e sglang-cpu`"
    ),
]

ServerOf = Callable[[str], Server]
TAPPED = (
    "layers [3, 5, 6] are marked, which taps R[3] (no plane of the contract), R[5] (high), "
    "R[6] (no plane of the contract)"
)


def flat(server: Server) -> str:
    """Give what a server has said, without line breaks."""
    return " ".join(server.said.split())


def test_the_story_is_refused_before_any_process_is_started(server_of: ServerOf) -> None:
    server = server_of("story")
    assert server.wait() not in {None, 0}, server.said[-3000:]
    told = flat(server)
    assert "GuardError: eagle3-contracts: this server does not keep the contract tiny-llama-eagle3" in told
    assert "2 of 16 draft tokens: with --speculative-eagle-topk 1 it is --speculative-num-steps + 1 = 2" in told
    assert "write --speculative-num-steps 15 --speculative-eagle-topk 1 --speculative-num-draft-tokens 16" in told
    assert "ids [2, 4, 5] of eagle_config.eagle_aux_hidden_state_layer_ids: taps R[3], R[5], R[6]" in told
    assert "expected: boundaries 2, 4, 5, in this order" in told
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in told
    assert "Load weight begin" not in told


def test_a_draft_from_a_hub_is_refused_by_what_the_target_marks(server_of: ServerOf) -> None:
    """No file could be read beforehand: the scheduler sees the layers that the model in memory marks."""
    server = server_of("hub refused")
    assert server.wait() not in {None, 0}, server.said[-3000:]
    told = flat(server)
    assert "Scheduler hit an exception" in told
    assert "GuardError: eagle3-contracts: what this server taps does not keep the contract tiny-llama-eagle3" in told
    assert TAPPED in told
    assert "expected: boundaries 2 (low), 4 (mid), 5 (high), in this order" in told
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in told


def test_warned_of_the_same_it_serves(server_of: ServerOf) -> None:
    server = server_of("hub warned")
    assert server.wait() is None, server.said[-3000:]
    assert TAPPED in flat(server)
    assert "EAGLE3_CONTRACT_GUARD_MODE=warn lets it go on" in server.said
    assert len(server.generate([3, 1, 4, 1, 5], 8)["output_ids"]) == 8


def test_a_sound_server_serves_and_says_what_it_was_seen_to_read_and_tap(server_of: ServerOf, drafter: Path) -> None:
    stored = len(load_file(drafter / "model.safetensors"))
    server = server_of("sound")
    assert server.wait() is None, server.said[-3000:]
    assert "layers [2, 4, 5] are marked, which taps R[2] (low), R[4] (mid), R[5] (high)" in server.said
    assert f"{stored} stored tensors, {stored} of them read or not needed; fc takes 192 channels" in server.said
    assert "COULD NOT CHECK" not in server.said
    assert "does not keep" not in server.said
    assert len(server.generate([3, 1, 4, 1, 5], 8)["output_ids"]) == 8


def test_no_request_passes_through_the_guard(server_of: ServerOf, counts: Path) -> None:
    """Counted in the scheduler's own loop: thousands of calls, many forward passes, none into this package."""
    server = server_of("sound")
    assert server.wait() is None, server.said[-3000:]
    found: dict[str, int] = {}
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and found.get("forward", 0) < 10:
        server.generate([3, 1, 4, 1, 5], 32)
        if counts.is_file():
            found = {
                name: int(value) for name, _, value in (item.partition("=") for item in counts.read_text().split())
            }
    assert found["forward"] >= 10
    assert found["all"] > 10_000
    assert found["guard"] == 0
