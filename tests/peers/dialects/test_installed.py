"""A version that was not read is verified by its own source, or not at all."""

from __future__ import annotations

import pytest

from eagle3_contracts.dialects import Dialect, NotVerified
from eagle3_contracts.dialects.installed import verify_source
from support.wheels import Sources

LATER = "0.5.24"


@pytest.mark.parametrize(
    "architecture",
    ["LlamaForCausalLM", "KimiK25ForConditionalGeneration", "GptOssForCausalLM", "Gemma3ForConditionalGeneration"],
)
def test_an_unchanged_source_verifies_a_later_version(sources: Sources, architecture: str) -> None:
    found = verify_source(sources.reader("sglang", "0.5.23", "sglang/srt"), LATER, architecture)
    assert isinstance(found, Dialect), found
    assert found.covers(LATER)
    assert not found.covers("0.5.25")


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("[val + 1 for val in layer_ids]", "[val for val in layer_ids]", "its setter makes"),
        ("if i in self.layers_to_capture", "if i in self.taps", "another form"),
        ("AuxHiddenStatePacker(len(self.layers_to_capture))", "AuxHiddenStateList()", "takes planes elsewhere"),
    ],
)
def test_a_changed_source_is_not_taken_for_the_old_rule(sources: Sources, before: str, after: str, says: str) -> None:
    original = sources.reader("sglang", "0.5.23", "sglang/srt")

    def changed(path: str) -> str | None:
        text = original(path)
        return text if text is None else text.replace(before, after)

    found = verify_source(changed, LATER, "DeepseekV3ForCausalLM")
    assert isinstance(found, NotVerified)
    assert says in found.reason


def test_an_older_source_is_not_taken_for_the_nearest_rule(sources: Sources) -> None:
    found = verify_source(sources.reader("sglang", "0.5.12", "sglang/srt"), LATER, "DeepseekV3ForCausalLM")
    assert isinstance(found, NotVerified)
