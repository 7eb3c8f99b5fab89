"""The addresses of what a fault's source names."""

from __future__ import annotations

import pytest

from eagle3_contracts.faults.sources import list_links

GITHUB = "https://github.com"


@pytest.mark.parametrize(
    ("source", "links"),
    [
        (
            "vllm-project/vllm PR #46301, vllm-project/speculators issue #613",
            ["vllm-project/vllm/pull/46301", "vllm-project/speculators/issues/613"],
        ),
        (
            "sgl-project/SpecForge issue #265, PR #702",
            ["sgl-project/SpecForge/issues/265", "sgl-project/SpecForge/pull/702"],
        ),
        ("a/b.cpp issues #1, #2 and #3: why", ["a/b.cpp/issues/1", "a/b.cpp/issues/2", "a/b.cpp/issues/3"]),
        ("a/b PRs #1 and #2", ["a/b/pull/1", "a/b/pull/2"]),
        ("a/b issues #1 and #4, c/d #22 and PR #14", ["a/b/issues/1", "a/b/issues/4", "c/d/pull/14"]),
        ("a/b #60", []),
        ("verl-SpeCo PR #21", []),
        ("vllm-project/vllm PR #1, verl-SpeCo PR #21", ["vllm-project/vllm/pull/1"]),
        ("speculators 0.4.0 to 0.9.0 on data of 0.3.0's reading (PR #313)", []),
        ("SGLang 0.5.23, srt/models/llama_eagle3.py", []),
    ],
)
def test_issues_and_pull_requests_of_a_named_repository_are_linked(source: str, links: list[str]) -> None:
    assert list(list_links(source)) == [f"{GITHUB}/{link}" for link in links]
