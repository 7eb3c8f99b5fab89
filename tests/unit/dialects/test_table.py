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


def test_assuming_takes_the_nearest_of_the_architectures_own_dialects() -> None:
    before, after = (find_dialect("vllm", version, "Qwen3NextForCausalLM", assume=True) for version in ("0.22", "0.40"))
    assert before == find_dialect("vllm", "0.22.0", "LlamaForCausalLM"), "this version's common rule is nearer"
    assert after == find_dialect("vllm", "0.33.0", "Qwen3NextForCausalLM")
    unchanged = find_dialect("sglang", "0.5.16", "GptOssForCausalLM")
    assert find_dialect("sglang", "0.5.16", "GptOssForCausalLM", assume=True) == unchanged
    oldest = find_dialect("sglang", "0.1", "Qwen3VLForConditionalGeneration", assume=True)
    assert isinstance(oldest, Dialect)
    assert oldest.versions == ">=0.5.9,<0.5.11"


def test_a_setting_is_looked_for_among_those_of_the_architecture() -> None:
    hooks = find_dialect("modelopt", "0.40.0", "AnyForCausalLM", setting="online (forward hooks)")
    dump = find_dialect("modelopt", "0.40.0", "AnyForCausalLM", setting="compute_hidden_states_hf.py")
    newer = find_dialect("modelopt", "0.45.0", "AnyForCausalLM", setting="compute_hidden_states_hf.py")
    assert isinstance(hooks, Dialect)
    assert isinstance(dump, Dialect)
    assert isinstance(newer, Dialect)
    assert (hooks.setting, hooks.versions) == ("online (forward hooks)", ">=0.40,<0.48")
    assert (dump.setting, dump.versions) == ("compute_hidden_states_hf.py", ">=0.40,<0.45")
    assert newer.versions == ">=0.45,<0.48"
    assert find_dialect("modelopt", "0.40.0", "AnyForCausalLM") == hooks
    unread = find_dialect("modelopt", "0.48.0", "AnyForCausalLM", setting="compute_hidden_states_hf.py")
    assert isinstance(unread, NotVerified)
    assert find_dialect("modelopt", "0.50", "Any", setting="compute_hidden_states_hf.py", assume=True) == newer


def test_a_tool_without_releases_has_no_range() -> None:
    eagle, sglang = find_tool("eagle"), find_tool("sglang")
    assert (eagle.versioned, sglang.versioned) == (False, True)
    assert eagle.releases(">=1") == eagle.read == ("cb7e084",)
    assert sglang.releases(">=0.5.12,<0.5.14") == ("0.5.12", "0.5.12.post1", "0.5.13", "0.5.13.post1")
    assert sglang.last_read == "0.5.23"
    assert unread_releases(eagle, "GptOssForCausalLM") == ()
    of_eagle, of_sglang = find_dialect("eagle", None, "LlamaForCausalLM"), find_dialect("sglang", "0.5.23", "Any")
    assert isinstance(of_eagle, Dialect)
    assert isinstance(of_sglang, NotVerified)
    assert of_eagle.covers(None)
    assert of_eagle.covers("cb7e084")
    assert find_dialect("eagle", "main", "LlamaForCausalLM") == of_eagle, "a revision is no version to refuse"


def test_a_dialect_covers_candidates_and_says_what_it_is() -> None:
    found = find_dialect("modelopt", "0.45.0rc1", "LlamaForCausalLM", setting="online (forward hooks)")
    assert isinstance(found, Dialect)
    assert not found.covers(None)
    assert found.label == "modelopt >=0.40,<0.48 online (forward hooks)"
    assert (found.serves_for, found.tool.purpose) == ("train", "capture")
    assert found.applies_to("AnyForCausalLM"), "no architecture is named, so the rule holds for all"
    plain = find_dialect("sglang", "0.5.23", "GptOssForCausalLM")
    assert isinstance(plain, Dialect)
    assert plain.label == "sglang >=0.5.17,<0.5.24"
    assert plain.serves_for == "serve"
    assert not plain.applies_to("LlamaForCausalLM")
    assert find_tool("sglang").releases(">=0.5.23rc1") == ("0.5.23",)


def test_not_verified_says_what_was_asked_and_what_was_read() -> None:
    with_version = NotVerified("sglang", "0.6", "NewForCausalLM", "0.5.23", "why")
    assert str(with_version) == "not verified for sglang 0.6 with NewForCausalLM, last read 0.5.23: why"
    without = NotVerified("sglang", None, "NewForCausalLM", "0.5.23", "why")
    assert str(without) == "not verified for sglang with NewForCausalLM, last read 0.5.23: why"


REASONS = {
    ("sglang", "0.5.24", "LlamaForCausalLM"): "its version is outside the range read",
    ("sglang", "0.5.23", "NewForCausalLM"): "this architecture's rule was not read",
    ("sglang", "0.6", "NewForCausalLM"): "this architecture's rule was not read",
    ("sglang", None, "LlamaForCausalLM"): "its rule depends on the version",
    ("speculators", "0.9.0", "DeepseekV32ForCausalLM"): "this architecture's rule was not read in that version",
    ("vllm", "0.22.0", "Qwen3NextForCausalLM"): "this architecture's rule was not read in that version",
    ("vllm", "0.40.0", "Qwen3NextForCausalLM"): "its version is outside the range read",
    ("vllm", "0.30.0", "DeepseekV32ForCausalLM"): "this architecture's rule was not read",
}


@pytest.mark.parametrize(("tool", "version", "architecture"), REASONS)
def test_what_was_not_verified_is_told_whole(tool: str, version: str | None, architecture: str) -> None:
    reason = REASONS[tool, version, architecture]
    expected = NotVerified(tool, version, architecture, find_tool(tool).last_read, reason)
    assert find_dialect(tool, version, architecture) == expected


def test_a_name_or_version_that_is_none_is_an_error_of_the_caller() -> None:
    names = "sglang, vllm, tensorrt-llm, transformers, speculators, specforge, modelopt, angelslim, torchspec, eagle"
    with pytest.raises(KeyError) as raised:
        find_tool("sglng")
    assert raised.value.args == (f"no dialect of 'sglng'; there are {names}",)
    with pytest.raises(KeyError) as raised:
        find_dialect("torchspec", None, "LlamaForCausalLM", setting="hf")
    assert raised.value.args == ("torchspec has no setting 'hf'; there are 'engine hf', 'engine vllm'",)
    with pytest.raises(KeyError):
        find_dialect("torchspec", None, "MixtralForCausalLM", setting="hf")
    with pytest.raises(InvalidVersion):
        find_dialect("sglang", "latest", "LlamaForCausalLM")


def test_ids_that_are_no_integers_are_an_error_of_the_caller() -> None:
    dialect = find_dialect("vllm", "0.33.0", "LlamaForCausalLM")
    assert isinstance(dialect, Dialect)
    for ids in (["2", "16", "29"], [True, 16, 29], [16, 2.0], [None]):
        with pytest.raises(TypeError) as raised:
            dialect.resolve(ids, 32)  # type: ignore[arg-type]
        assert raised.value.args == (f"layer ids are integers, not {ids!r}",)
    with pytest.raises(ValueError, match=r"^0 layers: a target has at least one$"):
        dialect.resolve([1], 0)
    assert dialect.resolve([0], 1).boundaries == (0,), "one layer is enough"
