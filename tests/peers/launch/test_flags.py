"""The tables of flags are what the wheels define, release by release; PEER_REWRITE_FLAGS=1 writes them anew."""

from __future__ import annotations

import os
from importlib.resources import files
from pathlib import Path

import pytest

from eagle3_contracts.dialects.sglang import SGLANG
from eagle3_contracts.dialects.vllm import VLLM
from eagle3_contracts.launchers import find_flag, names_in
from support.launch_flags import FlagFact, read_sglang_flags, read_vllm_flags, write_table
from support.wheels import Sources, large_wheels_wanted

REWRITE = "PEER_REWRITE_FLAGS"
CHANGES = (
    *("0.5.9", "0.5.10", "0.5.11", "0.5.12", "0.5.13", "0.5.14", "0.5.16", "0.5.17", "0.5.18"),
    *("0.5.20", "0.5.21", "0.5.22", "0.5.23"),
)
VERSIONS = SGLANG.read if large_wheels_wanted() else CHANGES
HEAD = """\
# The flags of {}, as its releases {} to {} define them: name, values (one, many, maybe, switch, loose),
# first and last release, state (-, retired: warns, gone: no effect or refused), and the name it is an alias of.
# Written and held against the wheels by tests/peers/launch.
"""


def assert_defined(engine: str, version: str, read: dict[str, FlagFact], releases: tuple[str, ...]) -> None:
    assert names_in(engine, version) == set(read)
    for name, fact in read.items():
        (flag,) = (item for item in find_flag(engine, name) if item.defined_in(version, releases))
        assert (flag.kind, flag.state) == (fact.kind, fact.state), name


@pytest.mark.parametrize("version", VERSIONS)
def test_sglang_defines_these_flags(sources: Sources, version: str) -> None:
    assert_defined("sglang", version, read_sglang_flags(sources, version), SGLANG.read)


@pytest.mark.skipif(not large_wheels_wanted(), reason="vLLM's wheels are large: set PEER_LARGE_WHEELS=1 to read them")
@pytest.mark.parametrize("version", VLLM.read)
def test_vllm_defines_these_flags(sources: Sources, version: str) -> None:
    assert_defined("vllm", version, read_vllm_flags(sources, version), VLLM.read)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_clauses_ask_for_is_there(sources: Sources, version: str) -> None:
    read = read_sglang_flags(sources, version)
    for name in (
        *("--speculative-algorithm", "--speculative-draft-model-path", "--speculative-draft-model-quantization"),
        *("--speculative-num-steps", "--speculative-eagle-topk", "--speculative-num-draft-tokens"),
        *("--context-length", "--dtype", "--quantization", "--chunked-prefill-size", "--model-path"),
    ):
        assert read[name].kind == "one", name
    for name in ("--disable-radix-cache", "--enable-return-hidden-states"):
        assert read[name].kind == "switch", name


@pytest.mark.skipif(os.environ.get(REWRITE) != "1", reason=f"the tables are written anew with {REWRITE}=1 only")
def test_rewrite_the_tables(sources: Sources) -> None:
    assert large_wheels_wanted(), "every release is read for this: set PEER_LARGE_WHEELS=1"
    for tool, read in ((SGLANG, read_sglang_flags), (VLLM, read_vllm_flags)):
        lines = write_table({version: read(sources, version) for version in tool.read})
        head = HEAD.format(tool.name, tool.read[0], tool.last_read)
        table = Path(str(files("eagle3_contracts.launchers"))) / "flags" / f"{tool.name}.txt"
        table.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
