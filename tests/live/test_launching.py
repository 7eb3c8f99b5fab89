"""A real SGLang server: what it is told to be it is, trees draft what the target writes, and none outlives its user."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any
from urllib.request import Request, urlopen

import pytest
import torch
from transformers import LlamaForCausalLM

from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.subjects.servers.launching import RunningServer
from eagle3_contracts.subjects.servers.launching.processes import lives
from support import killed_user
from support.server_processes import all_of

pytestmark = pytest.mark.live

PROMPTS = [[5, 17, 200, 33, 101, 77, 8, 123, 30, 12, 250], [7, 7, 90, 41], [33, 11, 8, 60, 71, 19]]
NEW = 40
TREE = ("--speculative-eagle-topk", "2", "--speculative-num-draft-tokens", "6")


def ask(url: str, path: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = Request(url + path, data, {"Content-Type": "application/json"})  # noqa: S310 (of a server started here)
    with urlopen(request, timeout=120) as answer:  # noqa: S310
        return json.load(answer)


def write(url: str, prompts: list[list[int]]) -> list[dict[str, Any]]:
    sampling = {"temperature": 0, "max_new_tokens": NEW, "ignore_eos": True}
    return list(ask(url, "/generate", {"input_ids": prompts, "sampling_params": sampling}))


@pytest.fixture(scope="module")
def greedy() -> list[list[int]]:
    """What the target itself writes, by transformers, in float32."""
    model = LlamaForCausalLM.from_pretrained(embedded_target(), dtype=torch.float32).eval()
    options = {"max_new_tokens": NEW, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    return [model.generate(torch.tensor([ids]), **options)[0, len(ids) :].tolist() for ids in PROMPTS]


def test_the_server_is_what_the_plan_says_and_tells_what_stands_in(serve: Callable[..., RunningServer]) -> None:
    server = serve("eagle3")
    told = ask(server.url, "/server_info")
    assert told["version"] == version("sglang")
    assert told["speculative_algorithm"] == "EAGLE3"
    assert told["speculative_num_draft_tokens"] == server.plan.draft_tokens
    assert told["dtype"] == "float32"
    (stand_in,) = server.stand_ins
    assert stand_in.startswith("sgl_kernel: ")
    assert any("stand-in" in note and "speed" in note for note in server.notes)


def test_a_chain_of_drafts_changes_no_token(serve: Callable[..., RunningServer], greedy: list[list[int]]) -> None:
    answers = write(serve("eagle3").url, PROMPTS)
    assert [answer["output_ids"] for answer in answers] == greedy
    assert all(answer["meta_info"]["spec_num_correct_drafts"] > 0 for answer in answers)


def test_a_tree_of_drafts_changes_no_token_and_a_killed_user_leaves_no_process(greedy: list[list[int]]) -> None:
    user = subprocess.Popen(  # noqa: S603
        [sys.executable, killed_user.__file__, *TREE], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert user.stdout is not None
        told = json.loads(user.stdout.readline())
        answers = write(told["url"], PROMPTS)
        assert [answer["output_ids"] for answer in answers] == greedy
        chains = write(told["url"], [PROMPTS[0]])[0]["meta_info"]
        assert chains["spec_num_correct_drafts"] > 0
        processes = all_of(told["supervisor"])
        assert len(processes) >= 4, "supervisor, server, scheduler and detokenizer were expected"
        user.kill()
        killed = time.monotonic()
        while any(lives(status.process) for status in processes) and time.monotonic() < killed + 10:
            time.sleep(0.1)
        assert not [status for status in processes if lives(status.process)]
    finally:
        user.kill()
        user.wait()
        user.stdout.close()
