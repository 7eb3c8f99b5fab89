"""The inverse beyond what brute force shows: which list comes first, which one serves all, and what it minds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import pytest

from eagle3_contracts.boundaries import Tap, tap_at
from eagle3_contracts.dialects import (
    Dialect,
    Inverse,
    Outcome,
    Refusal,
    Resolution,
    Tool,
    find_dialect,
    inverse,
    invert,
)
from eagle3_contracts.dialects.rule import Ids, Rule

N = 8
PRE, POST = Tap(N, "pre_norm"), Tap(N, "post_norm")


def dialect(tool: str, version: str, architecture: str = "LlamaForCausalLM", setting: str | None = None) -> Dialect:
    found = find_dialect(tool, version, architecture, setting=setting)
    assert isinstance(found, Dialect)
    return found


def inverted(of: Dialect, *boundaries: int, over: tuple[Dialect, ...] = ()) -> Inverse:
    found = invert(of, [tap_at(boundary, N) for boundary in boundaries], N, over=over)
    assert isinstance(found, Inverse), found.reason
    return found


OLD, NEW = (dialect("sglang", version, "DeepseekV3ForCausalLM") for version in ("0.5.12", "0.5.14"))
NEWEST = dialect("sglang", "0.5.23", "DeepseekV3ForCausalLM")


def test_the_plainest_list_is_ascending_and_the_rest_follow_by_pairs_in_descending_order() -> None:
    assert inverted(OLD, 3, 5, 6).lists == ((2, 4, 5), (2, 5, 4), (4, 2, 5), (4, 5, 2), (5, 2, 4), (5, 4, 2))


def test_of_lists_in_one_order_that_with_the_smaller_ids_comes_first_and_the_sign_decides_last() -> None:
    found = inverted(dialect("angelslim", "0.5.0"), 2, 4, 5)
    assert found.lists[0] == (1, 3, 4)
    transformers = dialect("transformers", "5.19.0")
    assert inverted(transformers, 4).lists == ((4,), (-5,))
    assert inverted(transformers, 5).lists == ((-4,), (5,)), "the smaller distance from 0"
    assert inverted(transformers, 1, 5).lists[:2] == ((1, 5), (-8, -4)), "each ascending, and 1 comes before 8"


def test_the_shortest_list_comes_first() -> None:
    dumping = dialect("tensorrt-llm", "1.2.1", setting="SaveHiddenStates")
    found = invert(dumping, (Tap(2), POST), N)
    assert isinstance(found, Inverse)
    assert found.lists == ((1,), (-1, 1), (1, -1))
    assert "stands among aux_hidden_states as well" not in found.note, "the note is that of the list to write down"


def test_a_layout_that_is_only_what_a_tool_appends_takes_no_other_id() -> None:
    dumping = dialect("tensorrt-llm", "1.2.1", setting="SaveHiddenStates")
    alone = invert(dumping, (POST,), N)
    assert isinstance(alone, Inverse)
    assert alone.lists == ((-1,),)
    assert alone.note == "-1 is written anyhow; asked for, it stands among aux_hidden_states as well"


def test_the_stable_list_means_the_layout_in_every_dialect_asked_for() -> None:
    both = inverted(NEW, 2, 4, 5, over=(OLD, NEW, NEWEST))
    assert both.stable == both.ids == (1, 3, 4)
    assert both.unstable == ""
    one = inverted(NEW, 3, 5, 6)
    assert one.stable == one.lists[0] == (3, 5, 6)
    second = inverted(NEW, 2, 4, 5)
    assert second.stable == second.lists[0]
    assert second.lists[0] == (1, 3, 4)
    assert (2, 4, 5) in second.lists


def test_where_no_list_serves_all_each_range_says_what_it_needs_in_the_order_of_versions() -> None:
    found = inverted(NEW, 3, 5, 6, over=(NEWEST, OLD, NEW))
    assert found.stable is None
    assert found.ids == (3, 5, 6)
    assert found.unstable == (
        "no one list means it in all of these versions: [2, 4, 5] in >=0.5.12,<0.5.13; "
        "[3, 5, 6] in >=0.5.14,<0.5.17 and >=0.5.17,<0.5.24"
    )
    embedding = inverted(NEW, 0, 4, 5, over=(OLD,))
    assert embedding.unstable == (
        "no one list means it in all of these versions: "
        "R[0] cannot be captured: the loop adds a residual that does not exist before layer 0 (TypeError) "
        "in >=0.5.12,<0.5.13; [0, 4, 5] in >=0.5.14,<0.5.17"
    )


def test_a_tool_without_releases_is_named_by_its_revision_where_versions_differ() -> None:
    hooks = dialect("torchspec", "", setting="engine hf")
    found = inverted(hooks, 3, 5, over=(dialect("transformers", "5.19.0"),))
    assert found.unstable == (
        "no one list means it in all of these versions: [2, 4] in 6f21829; [3, 5] in >=4.57,<5.25"
    )


def test_a_hard_coded_layout_is_its_default_and_has_no_list() -> None:
    eagle = dialect("eagle", "")
    assert invert(eagle, (Tap(2), Tap(4), Tap(5)), N, over=(OLD,)) == Inverse((), default=True)
    assert Inverse((), default=True).ids is None
    assert invert(eagle, (Tap(5), Tap(4), Tap(2)), N) == Refusal(
        "EAGLE's boundaries are hard-coded, it takes no ids; it captures [2, 4, 5]"
    )


def test_a_default_is_told_beside_the_lists() -> None:
    assert inverted(OLD, 2, 4, 5).default
    assert not inverted(OLD, 3, 5, 6).default


def test_a_note_is_that_of_the_list_to_write_down() -> None:
    early = dialect("sglang", "0.5.10")
    graphs = "CUDA graphs are captured with the default ids; only --disable-cuda-graph uses these throughout"
    assert inverted(early, 3, 5, 6).note == graphs
    assert inverted(early, 2, 4, 5).note == ""
    unstable = inverted(early, 3, 5, 6, over=(NEW,))
    assert unstable.stable is None
    assert unstable.note == graphs


@dataclass(frozen=True)
class ManyIds(Rule):
    """Eight ids for each tap, in list order."""

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:  # noqa: ARG002
        if ids is None:
            return Resolution((), outcome=Outcome.CRASHES_AT_START, note="no list")
        return Resolution(tuple(Tap(value // 8) for value in ids))

    def reach(self, layers: int) -> tuple[Tap, ...]:
        return tuple(Tap(boundary) for boundary in range(layers))

    def ids_for(self, tap: Tap, layers: int) -> Ids:  # noqa: ARG002
        return tuple(range(8 * tap.boundary, 8 * tap.boundary + 8))


MANY = Dialect(
    tool=Tool(name="many", purpose="serve", read=("1.0",), takes="ids"), versions=">=1", rule=ManyIds(), source="here"
)


class NoPlane(ManyIds):
    """Every list runs and captures nothing."""

    def resolve(self, ids: Ids | None, layers: int) -> Resolution:
        return Resolution(()) if ids else super().resolve(None, layers)


def test_a_candidate_that_captures_nothing_says_so() -> None:
    found = invert(replace(MANY, rule=NoPlane()), (Tap(1),), N)
    assert found == Refusal("no list gives R[1]; [8], for one, gives nothing")


def test_a_search_that_was_cut_short_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = inverted(MANY, 1, 2)
    assert found.complete
    assert len(found.lists) == 64
    monkeypatch.setattr(inverse, "CANDIDATE_CAP", 128)
    assert inverted(MANY, 1, 2).complete, "two orders of 64 choices are 128 candidates"
    monkeypatch.setattr(inverse, "CANDIDATE_CAP", 127)
    short = inverted(MANY, 1, 2)
    assert not short.complete
    assert len(short.lists) == 64, "of the last choice one order was left out, which means another layout"
    monkeypatch.setattr(inverse, "CANDIDATE_CAP", 10)
    assert len(inverted(MANY, 1, 2).lists) == 5


def test_every_choice_of_ids_in_every_order_is_read_back() -> None:
    found = inverted(MANY, 1, 1)
    assert set(found.lists) == set(permutations(range(8, 16), 2)), "of one tap twice, each pair of distinct ids"


def test_an_id_that_serves_two_taps_is_listed_once() -> None:
    hooks = dialect("torchspec", "", setting="engine hf")
    assert invert(hooks, (Tap(2), Tap(2), Tap(4)), N) == Refusal("no list of distinct ids gives R[2], R[2], R[4]")


def test_what_the_plainest_candidate_comes_to_is_told_where_every_tap_can_be_had() -> None:
    found = invert(NEW, (Tap(1),), N)
    assert found == Refusal("no list gives R[1]; [0], for one, gives R[0]")
    early = invert(dialect("sglang", "0.5.11"), (Tap(2),), N)
    assert early == Refusal(
        "no list gives R[2]; [1], for one, crashes at start: "
        "the drafter's fc is 3 planes wide, so weights for 1 do not load"
    )
