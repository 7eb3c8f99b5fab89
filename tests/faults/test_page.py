"""What the page says of where faults come from, what their clauses need, and how sure a figure is."""

from __future__ import annotations

import pytest

from eagle3_contracts.faults import Fault, list_faults
from support.museum.figures import DEPENDABLE, THIS_DRAW, read_figures, tell_figures
from support.museum.matrix import PAGE, read_matrix
from support.museum.origins import Origin, find_bare_numbers, find_origin


@pytest.mark.parametrize("fault", list_faults(), ids=lambda fault: fault.id)
def test_a_source_is_of_one_origin_and_says_what_its_numbers_are(fault: Fault) -> None:
    assert find_origin(fault.source) in Origin
    assert find_bare_numbers(fault.source) == []


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ("sgl-project/SpecForge PR #448", Origin.CASE),
        ("vllm-project/vllm issues #1 and #2; SGLang 0.5.23, models/x.py", Origin.CASE),
        ("same kind: vllm-project/vllm issue #55250, a cast", Origin.KIN),
        ("SGLang 0.5.23, models/x.py; same kind: vllm-project/vllm issue #1", Origin.KIN),
        ("speculators 0.9.0 and SpecForge 0.2.0, train/data.py", Origin.TOOL),
        ("RFC 9112, 9.5", Origin.RULE),
        ("no public case: what a mixing step leaves", Origin.NONE),
    ],
)
def test_an_origin_is_told_by_how_the_source_is_written(source: str, origin: Origin) -> None:
    assert find_origin(source) is origin


@pytest.mark.parametrize(
    "source", ["the story's second cause", "Slowloris", "SGLang, models/x.py", "vllm-project/vllm #7", "PR #313", ""]
)
def test_a_source_without_release_number_or_rule_is_of_no_origin(source: str) -> None:
    with pytest.raises(ValueError, match="is no OWNER/REPOSITORY issue"):
        find_origin(source)


@pytest.mark.parametrize(
    ("source", "bare"),
    [
        ("IBM/vLLM-Hook #22 and PR #14", ["#22", "#14"]),
        ("vllm-project/vllm issue #1, PR #2, issues #3 and #4", []),
        ("sgl-project/sglang issue #8066, IBM/vLLM-Hook #22", ["#22"]),
        ("speculators 0.4.0 (PR #313)", ["#313"]),
    ],
)
def test_a_number_without_its_repository_or_its_word_is_bare(source: str, bare: list[str]) -> None:
    assert find_bare_numbers(source) == bare


def test_the_page_counts_every_origin() -> None:
    page, sources = PAGE.read_text(encoding="utf-8"), [row["source"] for row in read_matrix().values()]
    for origin in Origin:
        assert f"| {origin} | {sum(find_origin(source) is origin for source in sources)} |\n" in page


def test_a_fault_that_only_a_recording_tells_says_so() -> None:
    lines = {line.split(" | ")[0].removeprefix("| "): line for line in PAGE.read_text(encoding="utf-8").splitlines()}
    killed = {name for name, row in read_matrix().items() if row["clause"] == "checkpoint.drafted-tokens"}
    assert {"checkpoint-planes-of-fc-reversed", "checkpoint-head-shards-swapped"} <= killed
    for name in killed:
        assert "`checkpoint.drafted-tokens` (needs recorded drafted tokens)" in lines[name]


def test_a_size_that_few_other_draws_show_is_marked() -> None:
    figures = read_figures()
    told = "\n".join(tell_figures(figures)).splitlines()
    unsure = [size for size in figures["sizes"] if size.get("caught", 1) < DEPENDABLE]
    assert {"checkpoint.drafted-tokens", "server.accepted-tokens", "capture.final-state"} <= {
        size["clause"] for size in unsure
    }
    marked = [line for line in told if line.startswith("|") and THIS_DRAW in line]
    assert [line.split(" | ")[:2] for line in marked] == [
        [f"| {size['what']}", f"`{size['clause']}`"] for size in unsure
    ]
