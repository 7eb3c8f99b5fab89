"""Watching a draft load. Stand-in: a draft of two modules whose ``load_weights`` drops what it has no parameter for, as
SGLang's does; the operations that are watched are PyTorch's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.guards.captures import check_capture
from eagle3_contracts.guards.weights import WeightWatch, check_weights, is_draft, watch_loading

Stored = dict[str, Tensor]


class TinyEagle3(nn.Module):
    """Loads as SGLang's own does: gate and up into one parameter, d2t into a table, t2d and strays dropped."""

    def __init__(self, planes: int = 3) -> None:
        super().__init__()
        self.fc = nn.Linear(64 * planes, 64, bias=False)
        self.gate_up = nn.Linear(64, 32, bias=False)
        self.embed_tokens = nn.Embedding(256, 64)
        self.hot: Tensor | None = None

    def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
        for name, tensor in weights:
            assert tensor.view(-1).numel()  # a look that takes nothing in
            if name == "d2t":
                self.hot = tensor + torch.arange(len(tensor))
            elif name in {"gate.weight", "up.weight"}:
                self.gate_up.weight.data.narrow(0, 16 * (name[0] == "u"), 16).copy_(tensor)
            elif name in dict(self.named_parameters()):
                self.get_parameter(name).data.copy_(tensor)


@pytest.fixture(scope="module")
def contract() -> Contract:
    return load_contract(CONTRACT)


def stored(**more: Tensor) -> Stored:
    return {
        "fc.weight": torch.randn(64, 192),
        "gate.weight": torch.randn(16, 64, dtype=torch.bfloat16),
        "up.weight": torch.randn(16, 64),
        "d2t": torch.zeros(160, dtype=torch.int64),
        "t2d": torch.ones(256, dtype=torch.bool),
    } | more


def load(tensors: Stored, model: Any = None) -> tuple[nn.Module, WeightWatch]:
    model = model or TinyEagle3()
    watch, watching = watch_loading(model)
    with watching:
        model.load_weights(watch.follow(iter(tensors.items())))
    watch.settle(model)
    return model, watch


def judge(contract: Contract, tensors: Stored, model: Any = None) -> dict[str, Finding]:
    return {item.clause: item for item in check_weights(contract, *load(tensors, model))}


def test_all_that_is_read_is_seen_through_casts_parts_and_tables(contract: Contract) -> None:
    found = judge(contract, stored())
    assert found["checkpoint.engine-tensors"].verdict is Verdict.PASSED
    assert found["checkpoint.fc-width"].observed == "fc takes 192 channels, 3 planes of 64"


def test_rotary_buffers_are_computed_by_the_engine_and_not_missed(contract: Contract) -> None:
    found = judge(contract, stored(**{"midlayer.self_attn.rotary_emb.inv_freq": torch.ones(8)}))
    assert found["checkpoint.engine-tensors"].verdict is Verdict.PASSED


def test_a_tensor_that_is_dropped_without_a_word_fails(contract: Contract) -> None:
    found = judge(contract, stored(**{"fc.bias": torch.zeros(64), "input_norm.weight": torch.ones(192)}))
    assert found["checkpoint.engine-tensors"].verdict is Verdict.FAILED
    assert "not read: fc.bias, input_norm.weight" in found["checkpoint.engine-tensors"].observed


def test_a_parameter_that_nothing_is_written_to_fails(contract: Contract) -> None:
    tensors = stored()
    del tensors["fc.weight"]
    found = judge(contract, tensors)["checkpoint.engine-tensors"]
    assert found.verdict is Verdict.FAILED
    assert "left as they were allocated: fc.weight" in found.observed


def test_an_fc_of_another_width_fails(contract: Contract) -> None:
    tensors = stored() | {"fc.weight": torch.randn(64, 256)}
    found = judge(contract, tensors, TinyEagle3(planes=4))["checkpoint.fc-width"]
    assert found.verdict is Verdict.FAILED
    assert found.observed == "fc takes 256 channels, 4 planes of 64"
    assert found.expected == "192 channels: low, mid, high"


def test_tensors_that_are_gathered_first_are_told_apart(contract: Contract) -> None:
    class Gathering(TinyEagle3):
        def load_weights(self, weights: Iterable[tuple[str, Tensor]]) -> None:
            super().load_weights(sorted(weights))

    assert judge(contract, stored(), Gathering())["checkpoint.engine-tensors"].verdict is Verdict.PASSED


def test_tensors_that_share_one_mapped_file_are_told_apart(contract: Contract) -> None:
    whole = torch.zeros(64 * 192 + 64)
    tensors = stored(**{"fc.bias": whole[64 * 192 :]}) | {"fc.weight": whole[: 64 * 192].view(64, 192)}
    assert "not read: fc.bias" in judge(contract, tensors)["checkpoint.engine-tensors"].observed


def test_memory_that_is_used_again_hides_nothing(contract: Contract) -> None:
    def fresh() -> Iterator[tuple[str, Tensor]]:
        whole = stored()
        yield "fc.bias", torch.zeros(160, dtype=torch.int64)
        del whole["d2t"]
        yield "t2d", whole.pop("t2d")
        yield "d2t", torch.zeros(160, dtype=torch.int64)  # the allocator gives the place that has just become free
        yield from whole.items()

    model = TinyEagle3()
    watch, watching = watch_loading(model)
    with watching:
        model.load_weights(watch.follow(fresh()))
    assert "not read: fc.bias" in check_weights(contract, model, watch)[0].observed


def test_a_loader_that_gives_nothing_is_left_open(contract: Contract) -> None:
    assert judge(contract, {})["checkpoint.engine-tensors"].verdict is Verdict.ERRORED


def test_what_goes_wrong_in_watching_is_told_and_loading_goes_on(contract: Contract) -> None:
    model = TinyEagle3()
    watch, watching = watch_loading(model)
    with watching:
        for _ in watch.follow([("odd", "no tensor")]):  # type: ignore[list-item]
            pass
        model.load_weights(watch.follow(stored().items()))
    assert bool((model.fc.weight != 0).any())
    found = check_weights(contract, model, watch)[0]
    assert found.verdict is Verdict.ERRORED
    assert "odd has no place in memory" in found.observed


def test_nothing_is_changed_by_being_watched() -> None:
    tensors = stored()
    plain = TinyEagle3()
    plain.load_weights(tensors.items())
    watched, watch = load(tensors)
    assert torch.equal(plain.fc.weight, watched.get_parameter("fc.weight"))
    assert torch.equal(plain.gate_up.weight, watched.get_parameter("gate_up.weight"))
    assert all(kept is None for _, kept in watch.stored.values())


def test_a_draft_that_came_in_unwatched_is_left_open(contract: Contract) -> None:
    model = TinyEagle3()
    assert is_draft(model)
    (found,) = check_capture(contract, model, {}, "0.5.23")
    assert found.verdict is Verdict.ERRORED
    assert "another loader than DefaultModelLoader" in found.observed
    watched, _ = load(stored())
    assert check_capture(contract, watched, {}, "0.5.23") == []
