"""Embedding, norm and head are applied as the contract says, whatever the architecture's habits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.subjects.targets import Target, open_target

Altered = Callable[..., Contract]
EPS = 1e-5


@pytest.fixture
def opened(cut: Callable[..., Path], altered: Altered) -> Callable[..., Target]:
    """Open the three parts of the golden target under another target table."""

    def open_parts(**target: object) -> Target:
        return open_target(str(cut("embed_tokens", "model.norm", "lm_head")), altered(**target))

    return open_parts


@pytest.fixture(scope="session")
def state() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((5, 64)).astype(np.float32) * 7 + 1


@pytest.fixture(scope="session")
def weights() -> dict[str, np.ndarray]:
    return {name: weight.float().numpy() for name, weight in load_file(embedded_target() / "model.safetensors").items()}


def test_the_parts_alone_give_what_the_whole_computes(
    opened: Callable[..., Target], reference: ReferenceStates
) -> None:
    parts = opened()
    np.testing.assert_allclose(parts.embedding_rows(reference.token_ids), reference.boundaries[0], rtol=1e-6)
    np.testing.assert_allclose(parts.final_norm(reference.boundaries[-1]), reference.final, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(parts.logits(reference.final), reference.logits, rtol=1e-4, atol=1e-4)


def test_a_rms_norm_against_torch(
    opened: Callable[..., Target], state: np.ndarray, weights: dict[str, np.ndarray]
) -> None:
    weight = torch.from_numpy(weights["model.norm.weight"])
    expected = torch.nn.functional.rms_norm(torch.from_numpy(state), (64,), weight, EPS)
    np.testing.assert_allclose(opened().final_norm(state), expected.numpy(), rtol=1e-5)


def test_plus_one_applies_one_plus_the_weight(
    opened: Callable[..., Target], state: np.ndarray, weights: dict[str, np.ndarray]
) -> None:
    gemma = opened(norm={"kind": "rms", "plus_one": True, "eps": EPS})
    weight = torch.from_numpy(weights["model.norm.weight"]) + 1
    expected = torch.nn.functional.rms_norm(torch.from_numpy(state), (64,), weight, EPS)
    np.testing.assert_allclose(gemma.final_norm(state), expected.numpy(), rtol=1e-5)
    np.testing.assert_allclose(gemma.norm_vector, weight.numpy(), rtol=1e-6)


@pytest.mark.parametrize("bias", [False, True])
def test_a_layer_norm_against_torch(tmp_path: Path, altered: Altered, state: np.ndarray, bias: bool) -> None:  # noqa: FBT001
    draw = torch.Generator().manual_seed(1)
    weight, shift = torch.rand(64, generator=draw) + 0.5, torch.randn(64, generator=draw)
    tensors = {"model.norm.weight": weight} | ({"model.norm.bias": shift} if bias else {})
    save_file(tensors, tmp_path / "norm.safetensors")
    target = open_target(str(tmp_path / "norm.safetensors"), altered(norm={"kind": "layer", "eps": EPS}))
    expected = torch.nn.functional.layer_norm(torch.from_numpy(state), (64,), weight, shift if bias else None, EPS)
    np.testing.assert_allclose(target.final_norm(state), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_embed_scale_scales_the_embedding_alone(opened: Callable[..., Target], state: np.ndarray) -> None:
    plain, scaled = opened(), opened(embed_scale=8.0)
    np.testing.assert_array_equal(scaled.embedding_rows([3, 3, 200]), 8 * plain.embedding_rows([3, 3, 200]))
    np.testing.assert_array_equal(scaled.logits(state), plain.logits(state))


def test_logit_scale_comes_before_the_cap(opened: Callable[..., Target], state: np.ndarray) -> None:
    plain = opened().logits(state)
    np.testing.assert_allclose(opened(logit_scale=0.25).logits(state), plain / 4, rtol=1e-6)
    capped = opened(logit_scale=0.25, logit_softcap=5.0).logits(state)
    np.testing.assert_allclose(capped, 5 * np.tanh(plain / 4 / 5), rtol=1e-5, atol=1e-6)
    assert np.abs(capped).max() <= 5


def test_a_large_head_is_read_in_slices(
    opened: Callable[..., Target], state: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = opened()
    expected = target.logits(state)
    monkeypatch.setattr("eagle3_contracts.subjects.targets.parts._HEAD_ROWS", 100)
    monkeypatch.setattr("eagle3_contracts.subjects.targets.parts._CACHE_BYTES", 0)
    np.testing.assert_allclose(opened().logits(state), expected, rtol=1e-5, atol=1e-5)
