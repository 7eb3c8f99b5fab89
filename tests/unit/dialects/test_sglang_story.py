"""SGLang's dialects told by the story's lists: what each of them comes to, release by release."""

from __future__ import annotations

import pytest

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects import Dialect, Inverse, Outcome, Refusal, find_dialect, invert

KIMI, LAYERS = "KimiK25ForConditionalGeneration", 61
CAPTURED = (Tap(3), Tap(31), Tap(59))
TRAINED = (Tap(0), Tap(3), Tap(31))


def sglang(version: str, architecture: str = KIMI) -> Dialect:
    found = find_dialect("sglang", version, architecture)
    assert isinstance(found, Dialect)
    return found


@pytest.mark.parametrize(
    ("version", "boundaries"),
    [("0.5.10", (3, 31, 59)), ("0.5.12.post1", (3, 31, 59)), ("0.5.13", (2, 30, 58)), ("0.5.23", (2, 30, 58))],
)
def test_the_served_list_changes_its_meaning_in_0_5_13(version: str, boundaries: tuple[int, ...]) -> None:
    assert sglang(version).resolve([2, 30, 58], LAYERS).boundaries == boundaries


def test_no_list_means_the_captured_planes_on_both_sides_of_the_change() -> None:
    found = invert(sglang("0.5.12"), CAPTURED, LAYERS, over=[sglang("0.5.14"), sglang("0.5.16")])
    assert isinstance(found, Inverse)
    assert found.lists[0] == (2, 30, 58)
    assert found.stable is None
    assert "[3, 31, 59] in >=0.5.14,<0.5.17" in found.unstable


def test_a_list_that_starts_with_1_is_shifted_on_both_sides() -> None:
    """Boundaries 2, 30, 58 as [1, 29, 57]: the reference layout of EAGLE-3 is stable, since its list starts so."""
    found = invert(sglang("0.5.12"), (Tap(2), Tap(30), Tap(58)), LAYERS, over=[sglang("0.5.14"), sglang("0.5.23")])
    assert isinstance(found, Inverse)
    assert found.stable == (1, 29, 57)
    assert found.default


@pytest.mark.parametrize(
    ("version", "outcome", "note"),
    [
        ("0.5.9", Outcome.CRASHES_AT_START, "no model class"),
        ("0.5.12", Outcome.CRASHES_AT_FIRST_FORWARD, "residual that does not exist before layer 0"),
        ("0.5.14", Outcome.CRASHES_AT_FIRST_FORWARD, "captures 2 planes where fc expects 3"),
        ("0.5.17", Outcome.CRASHES_AT_FIRST_FORWARD, "captured 2 of 3 aux hidden states"),
        ("0.5.23", Outcome.CRASHES_AT_FIRST_FORWARD, "captured 2 of 3 aux hidden states"),
    ],
)
def test_the_trained_list_of_the_story_runs_nowhere(version: str, outcome: Outcome, note: str) -> None:
    """[-1, 2, 30] is boundaries 0, 3, 31 where ids are shifted, and there the embedding cannot be captured."""
    resolution = sglang(version).resolve([-1, 2, 30], LAYERS)
    assert resolution.outcome is outcome
    assert note in resolution.note


def test_the_trained_wiring_can_be_served_from_0_5_14_on() -> None:
    for version in ("0.5.10", "0.5.12", "0.5.13"):
        assert isinstance(invert(sglang(version), TRAINED, LAYERS), Refusal)
    found = invert(sglang("0.5.14"), TRAINED, LAYERS, over=[sglang("0.5.23")])
    assert isinstance(found, Inverse)
    assert found.stable == (0, 3, 31)
    assert (31, 0, 3) in found.lists
    assert not found.default


def test_two_lists_of_deepseek_mean_the_same() -> None:
    dialect = sglang("0.5.23", "DeepseekV3ForCausalLM")
    assert dialect.resolve([1, 2, 30], LAYERS).boundaries == (2, 3, 31)
    assert dialect.resolve([2, 3, 31], LAYERS).boundaries == (2, 3, 31)


def test_boundary_1_is_reached_behind_another_id_only() -> None:
    dialect = sglang("0.5.23", "DeepseekV3ForCausalLM")
    assert dialect.resolve([1, 5, 9], LAYERS).boundaries == (2, 6, 10)
    found = invert(dialect, (Tap(1), Tap(5), Tap(9)), LAYERS)
    assert isinstance(found, Inverse)
    assert found.lists
    assert all(ids[0] != 1 for ids in found.lists)
    alone = invert(dialect, (Tap(1),), LAYERS)
    assert isinstance(alone, Refusal)
    assert "no list gives R[1]" in alone.reason


def test_a_list_that_names_n_is_not_shifted_on_gpt_oss() -> None:
    """sglang issue #32226: [24, 30, 36] are boundaries, and were shifted to [25, 31, 37] before 0.5.17."""
    old, new = sglang("0.5.16", "GptOssForCausalLM"), sglang("0.5.17", "GptOssForCausalLM")
    assert old.resolve([24, 30, 36], 36).outcome is Outcome.CRASHES_AT_FIRST_FORWARD
    assert new.resolve([24, 30, 36], 36).taps == (Tap(24), Tap(30), Tap(36, "pre_norm"))
    assert new.resolve([23, 29, 37], 36).boundaries == (24, 30)
    assert new.resolve([24, 30, 35], 36).taps == (Tap(25), Tap(31), Tap(36, "pre_norm"))


def test_llama_cannot_capture_the_final_state_and_says_so() -> None:
    dialect = sglang("0.5.23", "LlamaForCausalLM")
    resolution = dialect.resolve([1, 14, 31], 32)
    assert resolution.ignored == (31,)
    assert resolution.outcome is Outcome.CRASHES_AT_FIRST_FORWARD
    found = invert(dialect, (Tap(2), Tap(15), Tap(32, "pre_norm")), 32)
    assert isinstance(found, Refusal)
    assert "none follows the last" in found.reason


def test_one_plane_left_of_three_may_skip_fc_in_silence() -> None:
    resolution = sglang("0.5.23", "LlamaForCausalLM").resolve([1, 40, 41], 32)
    assert resolution.taps == (Tap(2),)
    assert "fc is skipped" in resolution.note


def test_cuda_graphs_of_early_releases_use_the_default_ids() -> None:
    """sglang PR #22836: cuda_graph_runner.py set the default before it captured."""
    early = sglang("0.5.10", "Qwen3ForCausalLM")
    assert "--disable-cuda-graph" in early.resolve([1, 9, 20], 36).note
    assert not early.resolve([1, 17, 32], 36).note
    assert not sglang("0.5.11", "Qwen3ForCausalLM").resolve([1, 9, 20], 36).note


def test_marked_layers_count_from_the_end_and_stop_the_start_beyond_it() -> None:
    dialect = sglang("0.5.23", "Qwen3MoeForCausalLM")
    assert dialect.resolve([-2, 1, 4], 48).boundaries == (2, 5, 47)
    assert dialect.resolve([1, 4, 47], 48).outcome is Outcome.CRASHES_AT_START


def test_minimax_m3_differs_between_text_and_vision() -> None:
    text, vision = (
        sglang("0.5.18", "MiniMaxM3SparseForCausalLM"),
        sglang("0.5.18", "MiniMaxM3SparseForConditionalGeneration"),
    )
    assert text.resolve(None, 62).boundaries == (2, 31, 59)
    assert vision.resolve(None, 62).boundaries == (3, 32, 60)
    assert text.resolve([2, 31, 59], 62) == vision.resolve([2, 31, 59], 62)
    unmarked = sglang("0.5.17", "MiniMaxM3SparseForCausalLM")
    assert unmarked.resolve(None, 62).outcome is Outcome.CRASHES_AT_FIRST_FORWARD


def test_gemma_3_loses_its_residual_in_0_5_17() -> None:
    assert sglang("0.5.16", "Gemma3ForCausalLM").resolve([1, 12], 26).taps == (Tap(2), Tap(13))
    assert sglang("0.5.17", "Gemma3ForCausalLM").resolve([1, 12], 26).taps == (Tap(2, "branch"), Tap(13, "branch"))
    found = invert(sglang("0.5.23", "Gemma3ForCausalLM"), (Tap(2), Tap(13)), 26)
    assert isinstance(found, Refusal)
    assert "leaves out the residual" in found.reason


def test_three_planes_are_all_that_early_drafters_take() -> None:
    assert sglang("0.5.11", "Qwen2ForCausalLM").resolve([1, 5], 28).outcome is Outcome.CRASHES_AT_START
    assert sglang("0.5.12", "Qwen2ForCausalLM").resolve([1, 5], 28).runs
