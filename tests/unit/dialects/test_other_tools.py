"""The other tools' dialects: where ids start, what the last one is, and what becomes of the order."""

from __future__ import annotations

import pytest

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects import Dialect, Inverse, Outcome, Refusal, find_dialect, invert

LLAMA, N = "LlamaForCausalLM", 32
PRE, POST = Tap(N, "pre_norm"), Tap(N, "post_norm")


def dialect(tool: str, version: str | None, architecture: str = LLAMA, setting: str | None = None) -> Dialect:
    found = find_dialect(tool, version, architecture, setting=setting)
    assert isinstance(found, Dialect)
    return found


def test_transformers_index_n_is_post_norm_and_vllm_id_n_is_pre_norm() -> None:
    assert dialect("transformers", "5.19.0").resolve([2, N], N).taps == (Tap(2), POST)
    assert dialect("transformers", "5.19.0").resolve([-1, 0], N).taps == (POST, Tap(0))
    assert dialect("vllm", "0.33.0").resolve([2, N], N).taps == (Tap(2), PRE)


def test_vllm_sorts_so_no_other_order_can_be_had() -> None:
    vllm = dialect("vllm", "0.33.0")
    assert vllm.resolve([29, 2, 16], N).boundaries == (2, 16, 29)
    found = invert(vllm, (Tap(29), Tap(2), Tap(16)), N)
    assert isinstance(found, Refusal)
    assert "concatenates R[2], R[16], R[29] whatever the list's order" in found.reason
    ascending = invert(vllm, (Tap(2), Tap(16), Tap(29)), N)
    assert isinstance(ascending, Inverse)
    assert len(ascending.lists) == 6


def test_vllm_takes_an_empty_list_for_none_and_sglang_does_not() -> None:
    assert dialect("vllm", "0.33.0").resolve([], N) == dialect("vllm", "0.33.0").resolve(None, N)
    assert not dialect("sglang", "0.5.23").resolve([], N).runs


def test_vllm_repeated_id_leaves_fc_one_plane_short() -> None:
    resolution = dialect("vllm", "0.33.0").resolve([2, 2, 16], N)
    assert resolution.ignored == (2,)
    assert resolution.outcome is Outcome.CRASHES_AT_FIRST_FORWARD


@pytest.mark.parametrize(("version", "final"), [("0.24.0", False), ("0.25.0", True), ("0.33.0", True)])
def test_vllm_deepseek_has_no_embedding_and_the_final_state_since_0_25(version: str, *, final: bool) -> None:
    kimi = dialect("vllm", version, "KimiK25ForConditionalGeneration")
    assert kimi.resolve([0, 3, 31], 61).outcome is Outcome.CRASHES_AT_FIRST_FORWARD
    assert isinstance(invert(kimi, (Tap(0), Tap(3), Tap(31)), 61), Refusal)
    assert kimi.resolve([2, 61], 61).runs is final
    assert kimi.resolve([3, 31, 59], 61).boundaries == (3, 31, 59)


def test_vllm_does_not_serve_gemma_3() -> None:
    assert dialect("vllm", "0.33.0", "Gemma3ForCausalLM").resolve(None, 26).outcome is Outcome.CRASHES_AT_START


def test_speculators_0_4_captures_one_further_on_than_its_export_is_served_with() -> None:
    captured = dialect("speculators", "0.4.0").resolve(None, N)
    assert captured.taps == (Tap(3), Tap(17), Tap(30), PRE)
    assert dialect("vllm", "0.33.0").resolve(None, N).boundaries == (2, 16, 29)


def test_speculators_0_5_adds_the_final_state_unless_told_not_to() -> None:
    assert dialect("speculators", "0.9.0").resolve([3, 17, 30], N).taps == (Tap(3), Tap(17), Tap(30), PRE)
    bare = dialect("speculators", "0.9.0", setting="--no-include-last-layer")
    assert bare.resolve([3, 17, 30], N).taps == (Tap(3), Tap(17), Tap(30))
    found = invert(dialect("speculators", "0.9.0"), (Tap(3), Tap(17)), N)
    assert isinstance(found, Refusal)
    assert "adds R[32] to every list" in found.reason


@pytest.mark.parametrize(("version", "runs"), [("0.7.0", True), ("0.8.0", False)])
def test_speculators_checks_ids_since_0_8(version: str, *, runs: bool) -> None:
    outcome = dialect("speculators", version).resolve([2, 40], N).outcome
    assert (outcome is Outcome.CRASHES_AT_START) != runs


def test_specforge_0_2_reads_ids_as_sglang_0_5_14_does() -> None:
    kimi = dialect("specforge", "0.2.0", "KimiK25ForConditionalGeneration")
    assert kimi.resolve([2, 30, 58], 61).boundaries == (2, 30, 58)
    assert kimi.resolve(None, 61).boundaries == (2, 30, 58)
    assert kimi.resolve([2, 30], 61).outcome is Outcome.CRASHES_AT_START
    assert kimi.resolve([-1, 2, 30], 61).outcome is Outcome.CRASHES_AT_START
    embedding = invert(dialect("specforge", "0.2.0", "Qwen3ForCausalLM"), (Tap(0), Tap(3), Tap(9)), 36)
    assert isinstance(embedding, Refusal)
    assert "negative" in embedding.reason


def test_eagle_and_specforge_0_1_take_no_list() -> None:
    for found in (dialect("eagle", None), dialect("specforge", "0.1.0")):
        inverse = invert(found, (Tap(2), Tap(16), Tap(29)), N)
        assert inverse == Inverse((), default=True)
        assert found.resolve([2, 16, 29], N).outcome is Outcome.CRASHES_AT_START
        refused = invert(found, (Tap(2), Tap(16), Tap(28)), N)
        assert isinstance(refused, Refusal)


@pytest.mark.parametrize(("layers", "planes"), [(4, 2), (5, 1), (6, 2)])
def test_eagle_boundaries_coincide_below_seven_layers(layers: int, planes: int) -> None:
    resolution = dialect("eagle", None).resolve(None, layers)
    assert len(resolution.taps) == planes
    assert resolution.outcome is Outcome.CRASHES_AT_FIRST_FORWARD


def test_modelopt_last_layer_is_pre_norm_in_hooks_and_post_norm_in_its_dumps() -> None:
    assert dialect("modelopt", "0.47.0").resolve([1, N - 1], N).taps == (Tap(2), PRE)
    dump = dialect("modelopt", "0.47.0", setting="compute_hidden_states_hf.py")
    assert dump.resolve([1, N - 1], N).taps == (Tap(2), POST)
    assert dialect("modelopt", "0.47.0").resolve([], N).boundaries == (2, 16, 29)


def test_tensorrt_llm_minus_1_is_the_normed_state_first_or_last() -> None:
    serving = dialect("tensorrt-llm", "1.2.1", setting="")
    dumping = dialect("tensorrt-llm", "1.2.1", setting="SaveHiddenStates")
    assert serving.resolve([15, -1, 1], N).taps == (POST, Tap(2), Tap(16))
    assert dumping.resolve([15, -1, 1], N).taps == (Tap(2), Tap(16), POST)
    assert dumping.resolve([15, 1], N).taps == (Tap(2), Tap(16), POST)
    refused = invert(serving, (Tap(2), Tap(16), POST), N)
    assert isinstance(refused, Refusal)
    assert "concatenates final_norm(R[32]), R[2], R[16]" in refused.reason
    assert serving.resolve(None, 5).outcome is Outcome.CRASHES_AT_START
    assert "uninitialised memory" in serving.resolve([1, 90], N).note


def test_angelslim_counts_from_the_embedding_at_minus_1() -> None:
    angelslim = dialect("angelslim", "0.5.0")
    assert angelslim.resolve([-1, 2, 30], N).taps == (Tap(0), Tap(3), Tap(31))
    assert angelslim.resolve([1, 15, N - 1], N).taps == (Tap(2), Tap(16), POST)
    assert angelslim.resolve([30, 2, 5], N).boundaries == (31, 3, 6)


def test_torchspec_orders_by_list_with_transformers_and_by_depth_with_vllm() -> None:
    assert dialect("torchspec", None, setting="engine hf").resolve([28, 1, 15], N).boundaries == (29, 2, 16)
    over_vllm = dialect("torchspec", None, setting="engine vllm")
    assert over_vllm.resolve([28, 1, 15], N).taps == (Tap(2), Tap(16), Tap(29), PRE)
    assert over_vllm.resolve([28, 1, 40], N).ignored == (40,)
