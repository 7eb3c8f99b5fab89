"""A sound server is let pass by the guard, which says what it saw, and costs no request anything.

Real: SGLang with its plugins, processes and loaders, the embedded target and its trained drafter. Stand-in: sgl_kernel
(tests/support/sgl_kernel_stand_in), which no guard looks at.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from safetensors.torch import load_file

from support.guarded_servers import Guarded

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        find_spec("sglang") is None, reason="a real SGLang server is needed: pip install tox, then `tox -e sglang-cpu`"
    ),
]


@pytest.mark.parametrize("server", ["sound"], indirect=True)
def test_a_sound_server_serves_and_says_what_it_was_seen_to_read_and_tap(server: Guarded, drafter: Path) -> None:
    stored = len(load_file(drafter / "model.safetensors"))
    assert not server.refused
    assert "layers [2, 4, 5] are marked, which taps R[2] (low), R[4] (mid), R[5] (high)" in server.said
    assert f"{stored} stored tensors, {stored} of them read or not needed; fc takes 192 channels" in server.said
    assert "COULD NOT CHECK" not in server.said
    assert "does not keep" not in server.said
    assert len(server.generate([3, 1, 4, 1, 5], 8)["output_ids"]) == 8


@pytest.mark.parametrize("server", ["sound"], indirect=True)
def test_no_request_passes_through_the_guard(server: Guarded, counts: Path) -> None:
    """Counted in the scheduler's own loop: thousands of calls, many forward passes, none into this package."""
    assert not server.refused
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
