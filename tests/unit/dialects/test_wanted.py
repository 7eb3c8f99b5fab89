"""What a contract asks of a dialect: which planes, in which versions, and what to mind."""

from __future__ import annotations

import pytest

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.dialects import Dialect, Tool, find_dialect, find_tool
from eagle3_contracts.dialects.wanted import Wanted, meets, unread_part, wanted_of

MEANT, TRAINED, GPT_OSS = (
    load_contract(name) for name in ("kimi-k2.5-eagle3@3.0.0", "kimi-k2.5-eagle3@2.0.0", "gpt-oss-120b-eagle3@1.0.0")
)
LOW, PRE = (Tap(3), Tap(31), Tap(59)), Tap(61, "pre_norm")


def dialect(tool: str, version: str | None, architecture: str = "DeepseekV3ForCausalLM", setting: str = "") -> Dialect:
    found = find_dialect(tool, version, architecture, setting=setting)
    assert isinstance(found, Dialect)
    return found


OVER_VLLM = dialect("torchspec", None, setting="engine vllm")
HOOKS = dialect("torchspec", None, setting="engine hf")
LATE = "it computes its targets from the final state, not from boundary 59 (high)"
BESIDE = "final_norm(R[61]) is stored as well, unasked, as the last hidden state"


@pytest.mark.parametrize(
    ("contract", "of", "expected"),
    [
        (MEANT, dialect("sglang", "0.5.23"), Wanted(LOW)),
        (MEANT, dialect("tensorrt-llm", "1.2.1"), Wanted(LOW)),
        (TRAINED, dialect("vllm", "0.33.0"), Wanted((Tap(0), Tap(3), Tap(31)))),
        (MEANT, HOOKS, Wanted(LOW)),
        (TRAINED, HOOKS, Wanted((Tap(0), Tap(3), Tap(31)), LATE)),
        (MEANT, OVER_VLLM, Wanted((*LOW, PRE))),
        (TRAINED, OVER_VLLM, Wanted((Tap(0), Tap(3), Tap(31), PRE), LATE)),
        (MEANT, dialect("transformers", "5.19.0"), Wanted((*LOW, PRE))),
        (TRAINED, dialect("transformers", "5.19.0"), Wanted((Tap(0), *LOW))),
        (MEANT, dialect("speculators", "0.9.0"), Wanted((*LOW, PRE))),
        (MEANT, dialect("angelslim", "0.5.0"), Wanted((*LOW, PRE), BESIDE)),
    ],
)
def test_what_is_asked_of_each_kind_of_tool(contract: Contract, of: Dialect, expected: Wanted) -> None:
    assert wanted_of(contract, of) == expected


def test_a_final_state_that_is_stored_unasked_is_left_out_where_it_is_the_last_plane() -> None:
    specforge = dialect("specforge", "0.2.0", "GptOssForCausalLM")
    layers = GPT_OSS.target.num_hidden_layers
    wanted = wanted_of(GPT_OSS, specforge)
    assert [tap.boundary for tap in wanted.taps] == [2, 18, 34]
    assert wanted.note == f"final_norm(R[{layers}]) is stored beside them, unasked"


def test_a_drafter_without_targets_of_a_plane_minds_nothing() -> None:
    served = load_contract("kimi-k2.5-eagle3@1.0.0")
    assert served.drafter.last_hidden == "none"
    assert wanted_of(served, HOOKS).note == ""


@pytest.mark.parametrize(
    ("versions", "meeting"),
    [
        (">=0.5.12,<0.5.13", True),
        ("==0.5.12.post1", True),
        (">=0.5.13", False),
        ("<0.5.12", False),
        (">=0.5.12.post2,<0.5.13", False),
        ("", True),
    ],
)
def test_two_ranges_meet_in_a_release_that_was_read(versions: str, *, meeting: bool) -> None:
    """Kimi's rule of 0.5.12 was read in 0.5.12 and 0.5.12.post1."""
    assert meets(dialect("sglang", "0.5.12", "KimiK25ForConditionalGeneration"), versions) is meeting


def tool(*read: str) -> Tool:
    return Tool(name="any", purpose="serve", read=read, takes="ids")


@pytest.mark.parametrize(
    ("of", "versions", "unread"),
    [
        (find_tool("sglang"), ">=0.5.9,<0.5.24", ""),
        (find_tool("sglang"), ">=0.5.9,<0.5.25", ">=0.5.24"),
        (find_tool("sglang"), ">=0.5.8,<0.5.24", "<0.5.9"),
        (find_tool("sglang"), ">=0.5", "<0.5.9 and >=0.5.24"),
        (find_tool("sglang"), "", "<0.5.9 and >=0.5.24"),
        (find_tool("vllm"), ">=0.22", ">=0.33.1"),
        (find_tool("vllm"), "<0.30", "<0.22.0"),
        (find_tool("vllm"), ">=0.22,<0.33.1", ""),
        (tool("1.2.3", "4.5.6"), "==1.2.2", "<1.2.3"),
        (tool("1.2.3", "4.5.6"), "==4.5.7", ">=4.5.7"),
        (tool("1.2.0", "4.5.6"), "==1.1", "<1.2.0"),
        (tool("1.2.0", "4.5.6"), ">=1.2,<=4.5.6", ""),
    ],
)
def test_the_part_beyond_what_was_read_is_named(of: Tool, versions: str, unread: str) -> None:
    assert unread_part(of, versions) == unread
