"""The table as a whole: every release that was read is covered once, and nothing beyond is guessed."""

from __future__ import annotations

import pytest
from packaging.version import InvalidVersion

from eagle3_contracts.dialects import DIALECTS, TOOLS, Dialect, NotVerified, Tool, dialects_of, find_dialect, find_tool
from eagle3_contracts.dialects.table import unread_releases

ARCHITECTURES = sorted({name for dialect in DIALECTS for name in dialect.architectures} | {"LlamaForCausalLM"})


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_every_release_read_has_one_dialect_at_most_for_each_setting(tool, architecture: str) -> None:
    dialects = tuple(dialects_of(tool, architecture))
    for version in tool.read if tool.versioned else (None,):
        covering = [dialect.setting for dialect in dialects if dialect.covers(version)]
        assert len(covering) == len(set(covering))
        found = find_dialect(tool.name, version, architecture)
        assert isinstance(found, Dialect) == bool(covering)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_llama_is_read_in_every_release(tool: Tool) -> None:
    assert not unread_releases(tool, "LlamaForCausalLM")


def test_an_architecture_read_in_some_releases_only_is_not_verified_in_the_others() -> None:
    found = find_dialect("speculators", "0.9.0", "DeepseekV32ForCausalLM")
    assert isinstance(found, NotVerified)
    assert "not read in that version" in found.reason
    assert unread_releases(find_tool("vllm"), "MiniMaxM3SparseForCausalLM") == ("0.22.0",)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.label)
def test_every_range_holds_a_release_that_was_read(dialect: Dialect) -> None:
    assert dialect.tool.releases(dialect.versions)
    assert dialect.source


@pytest.mark.parametrize(
    ("tool", "version", "architecture", "says"),
    [
        (
            "sglang",
            "0.5.24",
            "LlamaForCausalLM",
            "not verified for sglang 0.5.24 with LlamaForCausalLM, last read 0.5.23",
        ),
        ("sglang", "0.5.8", "LlamaForCausalLM", "its version is outside the range read"),
        ("sglang", "0.5.23", "NewForCausalLM", "this architecture's rule was not read"),
        ("sglang", None, "LlamaForCausalLM", "its rule depends on the version"),
        ("eagle", None, "GptOssForCausalLM", "this architecture's rule was not read"),
    ],
)
def test_what_was_not_read_is_not_verified(tool: str, version: str | None, architecture: str, says: str) -> None:
    found = find_dialect(tool, version, architecture)
    assert isinstance(found, NotVerified)
    assert says in str(found)


def test_assuming_takes_the_nearest_dialect() -> None:
    newest, oldest = (
        find_dialect("sglang", version, "GptOssForCausalLM", assume=True) for version in ("0.6.0", "0.5.0")
    )
    assert newest == find_dialect("sglang", "0.5.23", "GptOssForCausalLM")
    assert oldest == find_dialect("sglang", "0.5.9", "GptOssForCausalLM")
    general = find_dialect("sglang", "0.5.23", "NewForCausalLM", assume=True)
    assert general == find_dialect("sglang", "0.5.23", "LlamaForCausalLM")


def test_assuming_never_takes_another_versions_rule_where_this_version_has_a_common_one() -> None:
    assumed = find_dialect("specforge", "0.2.0", "NewForCausalLM", assume=True)
    assert assumed == find_dialect("specforge", "0.2.0", "LlamaForCausalLM")
    hard_coded = find_dialect("specforge", "0.1.0", "NewForCausalLM", assume=True)
    assert hard_coded == find_dialect("specforge", "0.1.0", "LlamaForCausalLM")
    assert isinstance(find_dialect("specforge", "0.2.0", "NewForCausalLM"), NotVerified)


def test_a_name_or_version_that_is_none_is_an_error_of_the_caller() -> None:
    with pytest.raises(KeyError, match="there are sglang, vllm"):
        find_tool("sglng")
    with pytest.raises(KeyError, match="no setting 'hf'; there are 'engine hf', 'engine vllm'"):
        find_dialect("torchspec", None, "LlamaForCausalLM", setting="hf")
    with pytest.raises(InvalidVersion):
        find_dialect("sglang", "latest", "LlamaForCausalLM")


def test_ids_that_are_no_integers_are_an_error_of_the_caller() -> None:
    dialect = find_dialect("vllm", "0.33.0", "LlamaForCausalLM")
    assert isinstance(dialect, Dialect)
    with pytest.raises(TypeError, match="layer ids are integers"):
        dialect.resolve(["2", "16", "29"], 32)  # type: ignore[list-item]
    with pytest.raises(TypeError, match="layer ids are integers"):
        dialect.resolve([True, 16, 29], 32)
    with pytest.raises(ValueError, match="at least one"):
        dialect.resolve([1], 0)
