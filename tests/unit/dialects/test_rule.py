"""Rules picked one id at a time, on rules made up for one difference each."""

from __future__ import annotations

from typing import Any

import pytest

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects import Outcome, Resolution
from eagle3_contracts.dialects.dialect import lies_in
from eagle3_contracts.dialects.modelopt import default_layers, dumped_boundaries
from eagle3_contracts.dialects.resolution import at_first_forward, at_start, say_planes
from eagle3_contracts.dialects.rule import LayerRule, reference_boundaries, reference_layers, repeated
from eagle3_contracts.dialects.sglang_rules import Capture, SglangRule, Shift
from eagle3_contracts.dialects.tensorrt_llm import SlotRule
from eagle3_contracts.dialects.torchspec import HookRule, listed_for_vllm
from eagle3_contracts.dialects.transformers import TupleIndexRule
from eagle3_contracts.dialects.unsupported import HardCodedRule

N = 8
PRE, POST = Tap(N, "pre_norm"), Tap(N, "post_norm")


def layer_rule(**fields: object) -> LayerRule:
    return LayerRule(**{"shift": 0, "default": None, **fields})  # type: ignore[arg-type]


def runs(*taps: Tap, ignored: tuple[int, ...] = ()) -> Resolution:
    return Resolution(taps, ignored)


@pytest.mark.parametrize(
    ("rule", "ids", "expected"),
    [
        (layer_rule(), (5, 0, 8), runs(Tap(0), Tap(5), PRE)),
        (layer_rule(shift=1), (5, -1, 7), runs(Tap(0), Tap(6), PRE)),
        (
            layer_rule(shift=1, first=1),
            (-1, 0),
            at_first_forward([Tap(1)], [-1], "captures 1 plane where fc expects 2"),
        ),
        (layer_rule(final="post_norm"), (2, 8), runs(Tap(2), POST)),
        (layer_rule(final=None), (2, 8), at_first_forward([Tap(2)], [8], "captures 1 plane where fc expects 2")),
        (layer_rule(counted=False), (2, 9, -1), runs(Tap(2), ignored=(9, -1))),
        (layer_rule(counted=False), (5, 2, 5, 9, 5), runs(Tap(2), Tap(5), ignored=(9, 5, 5))),
        (layer_rule(order="list"), (5, 2, 5), runs(Tap(5), Tap(2), Tap(5))),
        (layer_rule(stray="forward"), (2, 9, -1), at_first_forward((), [9, -1], "ids [9, -1] are out of range")),
        (layer_rule(stray="start"), (2, 9, -1), at_start("ids [9, -1] are outside 0..8", [9, -1])),
        (layer_rule(stray="start", final=None), (2, 8), at_start("ids [8] are outside 0..7", [8])),
        (layer_rule(stray="start", shift=1, first=1), (2, 8), at_start("ids [8] are outside 0..7", [8])),
        (layer_rule(stray="start", shift=1, first=1), (7, 0), runs(Tap(1), PRE)),
        (layer_rule(distinct=True), (2, 2), at_start("ids must be distinct")),
        (layer_rule(exactly=3), (2, 4), at_start("it takes exactly 3 ids, not 2")),
        (layer_rule(exactly=3), (2, 4, 5), runs(Tap(2), Tap(4), Tap(5))),
        (layer_rule(), (), at_start("the list is empty")),
        (layer_rule(), None, at_start("it takes its ids from the command line or the draft's config only")),
        (layer_rule(default_missing="none is made"), None, at_start("none is made")),
        (layer_rule(default=reference_boundaries), None, runs(Tap(2), Tap(4), Tap(5))),
        (layer_rule(default=reference_boundaries), (), at_start("the list is empty")),
        (layer_rule(default=reference_layers, empty_is_absent=True), (), runs(Tap(1), Tap(3), Tap(4))),
        (layer_rule(empty_is_absent=True, default_missing="none is made"), (), at_start("none is made")),
    ],
)
def test_a_rule_of_layers_reads_each_id_for_itself(rule: LayerRule, ids: tuple[int, ...] | None, expected) -> None:  # type: ignore[no-untyped-def]
    assert rule.resolve(ids, N) == expected


def test_a_rule_of_layers_reaches_from_its_first_boundary_to_the_last_or_the_final_state() -> None:
    inner = tuple(Tap(boundary) for boundary in range(1, N))
    assert layer_rule(first=1).reach(N) == (*inner, PRE)
    assert layer_rule(first=1, final="post_norm").reach(N) == (*inner, POST)
    assert layer_rule(first=1, final=None).reach(N) == inner
    assert layer_rule().reach(N)[0] == Tap(0)
    assert layer_rule(shift=1).ids_for(Tap(3), N) == (2,)
    assert layer_rule(first=1).ids_for(Tap(0), N) == ()


@pytest.mark.parametrize("boundary", [-1, N + 1])
def test_a_boundary_that_the_target_does_not_have_is_told_apart_from_one_that_is_out_of_reach(boundary: int) -> None:
    assert layer_rule().unreachable(Tap(boundary), N) == "the target has boundaries 0..8"
    for reached in (Tap(0), Tap(3), POST):
        assert layer_rule().unreachable(reached, N) == f"{reached} cannot be captured"


def test_what_is_taken_by_depth_is_arranged_and_what_is_taken_by_list_is_not() -> None:
    listed = (PRE, Tap(2), Tap(5), Tap(2))
    assert layer_rule().arrange(listed, N) == (Tap(2), Tap(5), PRE)
    assert layer_rule(order="list").arrange(listed, N) == listed
    assert layer_rule().appended(N) is None


def test_every_occurrence_after_the_first_is_a_repetition() -> None:
    assert repeated([5, 2, 5, 5, 3, 2]) == [5, 5, 2]
    assert repeated([1, 2, 3]) == []


def test_defaults_are_the_same_boundaries_by_two_numberings() -> None:
    assert reference_boundaries(61) == (2, 30, 58)
    assert reference_layers(61) == (1, 29, 57)


def test_a_resolution_means_a_layout_only_if_it_runs_and_wastes_nothing() -> None:
    layout = [Tap(2), Tap(4)]
    assert runs(*layout).means(iter(layout))
    assert not runs(*layout).means(reversed(layout))
    assert not runs(*layout, ignored=(9,)).means(layout)
    assert not at_first_forward(layout, (), "why").means(layout)
    assert at_start("why", iter([1])) == Resolution((), (1,), Outcome.CRASHES_AT_START, "why")
    assert runs(*layout, PRE).boundaries == (2, 4, 8)


def test_one_plane_is_no_plural() -> None:
    assert [say_planes(count) for count in (0, 1, 2)] == ["0 planes", "1 plane", "2 planes"]


def test_slots_of_tensorrt_llm_without_an_id_and_with_one_twice() -> None:
    dumping = SlotRule(dumping=True)
    twice = "-1 is written anyhow; asked for, it stands among aux_hidden_states as well"
    unwritten = "the slots of ids that no layer answers to are never written: uninitialised memory"
    assert dumping.resolve((-1, 1, -1), N) == Resolution((Tap(2), POST), (-1,), note=twice)
    assert dumping.resolve((-1, 1, 8), N) == Resolution((Tap(2), POST), (8,), note=unwritten)
    assert SlotRule().resolve((-1, 1), N).note == ""
    assert dumping.resolve(None, 6).boundaries == (2, 3, 6)
    assert SlotRule().resolve(None, 6).boundaries == (2, 3)
    assert SlotRule().resolve((0, N - 1, N), N).taps == (Tap(1), PRE)
    assert SlotRule().ids_for(POST, N) == (-1,)
    assert SlotRule().ids_for(PRE, N) == (N - 1,)
    assert SlotRule().ids_for(Tap(0), N) == ()
    assert SlotRule().arrange((Tap(2), POST, Tap(1), Tap(2)), N) == (POST, Tap(1), Tap(2))
    assert dumping.arrange((Tap(2), POST, Tap(1)), N) == (Tap(1), Tap(2), POST)
    assert dumping.arrange((Tap(2), Tap(1)), N) == (Tap(1), Tap(2))


def test_an_index_of_transformers_counts_from_both_ends_and_no_further() -> None:
    rule = TupleIndexRule()
    assert rule.resolve((0, N, -1, -N - 1), N).taps == (Tap(0), POST, POST, Tap(0))
    error = "hidden_states has 9 entries: IndexError for "
    assert rule.resolve((N + 1, 2), N) == at_first_forward((), [9], f"{error}[9]")
    assert rule.resolve((-N - 2, 2), N) == at_first_forward((), [-10], f"{error}[-10]")
    assert rule.ids_for(Tap(3), N) == (3, -6)
    shifted = TupleIndexRule(shift=1)
    assert shifted.ids_for(Tap(3), N) == (2, -7)
    assert [shifted.resolve((value,), N).taps for value in shifted.ids_for(Tap(3), N)] == [(Tap(3),)] * 2
    assert shifted.resolve((N,), N).ignored == (N,)
    assert rule.ids_for(PRE, N) == ()


def test_planes_without_their_residual_still_begin_with_the_embedding() -> None:
    branch = SglangRule(state="branch", capture=Capture.LAYER_INPUTS_AND_FINAL)
    assert branch.resolve((-1, 1, N - 1), N).taps == (Tap(0), Tap(2, "branch"), Tap(N, "branch"))
    assert branch.unreachable(Tap(2), N) == (
        "the capture leaves out the residual (sglang PR #39286), so R[2] cannot be had"
    )
    assert branch.unreachable(PRE, N) == (
        f"the capture leaves out the residual (sglang PR #39286), so R[{N}] cannot be had"
    )
    assert branch.unreachable(Tap(0, "branch"), N) == "R[0] without its residual cannot be captured"


def test_hard_coded_boundaries_are_taken_on_entry_of_a_layer_each_once() -> None:
    """Of three layers n-3 is the embedding; of two, 2 is no layer's input and n-3 is none at all."""
    rule = HardCodedRule(reference_boundaries, 3, "no ids")
    assert rule.resolve(None, 3).taps == (Tap(0), Tap(1), Tap(2))
    few = "2 layers give 1 plane where fc takes 3"
    assert rule.resolve(None, 2) == at_first_forward([Tap(1)], (), few)
    assert HardCodedRule(reference_boundaries, None, "no ids").resolve(None, 2) == runs(Tap(1))
    assert rule.resolve((), 8) == at_start("no ids")
    assert rule.reach(7) == (Tap(2), Tap(3), Tap(4))


def test_defaults_of_modelopt_stay_within_a_target_of_a_few_layers() -> None:
    expected = {1: (0, 1), 2: (0, 1), 3: (0, 1), 4: (0, 1), 5: (1,), 6: (1, 2), 8: (1, 3, 4), 61: (1, 29, 57)}
    assert {layers: default_layers(layers) for layers in expected} == expected
    expected = {2: (1, 2), 3: (1, 2), 4: (1, 2), 5: (2,), 6: (2, 3), 8: (2, 4, 5), 61: (2, 30, 58)}
    assert {layers: dumped_boundaries(layers) for layers in expected} == expected


def test_hooks_of_torchspec_on_one_layer_twice_and_on_one_that_is_not_there() -> None:
    rule = HookRule(shift=1, first=1, default=reference_layers, order="list", stray="forward")
    twice = "captures 2 layers where 3 are listed"
    assert rule.resolve((0, N - 1, 0), N) == at_first_forward((), [0], twice)
    assert rule.resolve((N, N), N) == at_first_forward((), [N, N], f"ids [{N}, {N}] are out of range")
    assert rule.resolve((-1, -1), N) == at_first_forward((), [-1, -1], "ids [-1, -1] are out of range")
    assert listed_for_vllm((1, N - 1), N) == (2, N), "n is there already"
    assert listed_for_vllm((N, 1), N) == (2, N)
    assert listed_for_vllm(None, N) == (2, 4, 5, N)


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({}, (2,)),
        ({"capture": Capture.MARKED_LAYERS}, (2, -6)),
        ({"shift": Shift.PLUS_ONE_IF_FIRST_IS_1}, (2, 3)),
        ({"shift": Shift.PLUS_ONE_UNLESS_MAXIMUM_IS_N, "capture": Capture.MARKED_LAYERS}, (2, -6, 3, -5)),
        ({"capture": Capture.NOTHING}, ()),
    ],
)
def test_the_ids_of_a_boundary_in_sglang_by_shift_and_by_marks(fields: dict[str, Any], ids: tuple[int, ...]) -> None:
    assert SglangRule(**fields).ids_for(Tap(3), N) == ids


def test_a_candidate_lies_in_a_range_as_a_release_does() -> None:
    assert lies_in("0.5.13rc1", ">=0.5.12,<0.5.14")
    assert not lies_in("0.5.13rc1", ">=0.5.13")
    assert lies_in("0.5.13.post1", ">=0.5.13")
    assert not lies_in("0.5.14", ">=0.5.12,<0.5.14")
