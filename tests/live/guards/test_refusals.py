"""The guard inside real SGLang servers refuses the story's two causes at start, or warns of them where it is told to.

Real: SGLang with its plugins, processes and loaders, the embedded target and its trained drafter. Stand-in: sgl_kernel
(tests/support/sgl_kernel_stand_in), which no guard looks at.
"""

from __future__ import annotations

import re
from importlib.util import find_spec

import pytest

from support.guarded_servers import Guarded

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(
        find_spec("sglang") is None, reason="a real SGLang server is needed: pip install tox, then `tox -e sglang-cpu`"
    ),
]

ENDED = re.compile(r"the server ended by itself before it answered, with exit status -?[1-9]")
TAPPED = (
    "layers [3, 5, 6] are marked, which taps R[3] (no plane of the contract), R[5] (high), "
    "R[6] (no plane of the contract)"
)


def flat(server: Guarded) -> str:
    """Give what a server has said, without line breaks."""
    return " ".join(server.said.split())


@pytest.mark.parametrize("server", ["story"], indirect=True)
def test_the_story_is_refused_before_any_process_is_started(server: Guarded) -> None:
    assert ENDED.match(server.refused), server.refused
    told = flat(server)
    assert "GuardError: eagle3-contracts: this server does not keep the contract tiny-llama-eagle3" in told
    assert "2 of 16 draft tokens: with --speculative-eagle-topk 1 it is --speculative-num-steps + 1 = 2" in told
    assert "write --speculative-num-steps 15 --speculative-eagle-topk 1 --speculative-num-draft-tokens 16" in told
    assert "ids [2, 4, 5] of eagle_config.eagle_aux_hidden_state_layer_ids: taps R[3], R[5], R[6]" in told
    assert "expected: boundaries 2, 4, 5, in this order" in told
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in told
    assert "Load weight begin" not in told


@pytest.mark.parametrize("server", ["hub refused"], indirect=True)
def test_a_draft_from_a_hub_is_refused_by_what_the_target_marks(server: Guarded) -> None:
    """No file could be read beforehand: the scheduler sees the layers that the model in memory marks."""
    assert ENDED.match(server.refused), server.refused
    told = flat(server)
    assert "Scheduler hit an exception" in told
    assert "GuardError: eagle3-contracts: what this server taps does not keep the contract tiny-llama-eagle3" in told
    assert TAPPED in told
    assert "expected: boundaries 2 (low), 4 (mid), 5 (high), in this order" in told
    assert '"eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 4]}' in told


@pytest.mark.parametrize("server", ["hub warned"], indirect=True)
def test_warned_of_the_same_it_serves(server: Guarded) -> None:
    assert not server.refused
    assert TAPPED in flat(server)
    assert "EAGLE3_CONTRACT_GUARD_MODE=warn lets it go on" in server.said
    assert len(server.generate([3, 1, 4, 1, 5], 8)["output_ids"]) == 8
