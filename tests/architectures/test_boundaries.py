"""The transformers target reads every boundary where it is: shown by models cut short, without any hook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.subjects.targets.hf import TransformersTarget, open_transformers_target
from eagle3_contracts.subjects.targets.hf_loading import load_model

TOKENS = [5, 9, 33, 9, 40, 7, 7, 61, 12, 90, 5, 18]


@pytest.fixture(scope="module")
def target(subject: Any) -> TransformersTarget:
    return open_transformers_target(subject.folder, subject.contract)


@pytest.fixture(scope="module")
def reference(target: TransformersTarget) -> ReferenceStates:
    return target.reference(TOKENS)


@pytest.fixture(scope="module")
def model(subject: Any) -> Any:
    return load_model(str(subject.folder))


@contextmanager
def _cut(model: Any, layers: int) -> Iterator[Any]:
    """Keep the first layers only and no final norm, so that the model's own forward ends at a boundary."""
    decoder = model.get_decoder()
    whole, norm = decoder.layers, decoder.norm
    count = decoder.config.num_hidden_layers
    decoder.layers, decoder.norm = whole[:layers], torch.nn.Identity()
    decoder.config.num_hidden_layers = layers
    try:
        yield decoder
    finally:
        decoder.layers, decoder.norm, decoder.config.num_hidden_layers = whole, norm, count


def _last_state(decoder: Any) -> np.ndarray:
    with torch.no_grad():
        return decoder(input_ids=torch.tensor([TOKENS]), use_cache=False).last_hidden_state[0].numpy()


def test_a_model_cut_after_k_layers_ends_at_boundary_k(model: Any, reference: ReferenceStates) -> None:
    for boundary, state in enumerate(reference.boundaries):
        with _cut(model, boundary) as decoder:
            np.testing.assert_allclose(state, _last_state(decoder), rtol=1e-5, atol=1e-5)


def test_boundaries_differ_from_their_neighbours(reference: ReferenceStates) -> None:
    """Otherwise the comparison above could not fail."""
    for one, other in zip(reference.boundaries[:-1], reference.boundaries[1:], strict=True):
        assert np.abs(one - other).max() > 0.1


def test_a_layer_without_its_last_sublayer_lacks_the_branch(model: Any, reference: ReferenceStates) -> None:
    assert reference.branches is not None
    for boundary, branch in enumerate(reference.branches):
        mlp = model.get_decoder().layers[boundary].mlp
        with _cut(model, boundary + 1) as decoder:
            handle = mlp.register_forward_hook(_silence)
            without = _last_state(decoder)
            handle.remove()
        np.testing.assert_allclose(branch, reference.boundaries[boundary + 1] - without, rtol=1e-4, atol=1e-4)


def _silence(_: object, __: object, output: Any) -> Any:
    return (torch.zeros_like(output[0]), *output[1:]) if isinstance(output, tuple) else torch.zeros_like(output)


def test_hidden_states_n_of_transformers_is_post_norm(model: Any, reference: ReferenceStates) -> None:
    """The trap: index n is the final norm's output, so that R[n] is in no ``hidden_states`` at all."""
    with torch.no_grad():
        output = model(input_ids=torch.tensor([TOKENS]), output_hidden_states=True)
    theirs = [state[0].numpy() for state in output.hidden_states]
    np.testing.assert_allclose(np.stack(theirs[:-1]), reference.boundaries[:-1], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(theirs[-1], reference.final, rtol=1e-5, atol=1e-5)
    assert np.abs(theirs[-1] - reference.boundaries[-1]).max() > 0.1
    np.testing.assert_allclose(output.logits[0].numpy(), reference.logits, rtol=1e-5, atol=1e-5)


def test_norm_embedding_and_head_rebuild_what_the_model_computes(
    target: TransformersTarget, reference: ReferenceStates
) -> None:
    np.testing.assert_allclose(target.embedding_rows(TOKENS), reference.boundaries[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(target.final_norm(reference.boundaries[-1]), reference.final, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(target.logits(reference.final), reference.logits, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("tokens", [[], [-1], [96]])
def test_token_ids_outside_the_vocabulary_are_refused(target: TransformersTarget, tokens: list[int]) -> None:
    with pytest.raises(ValueError, match=r"not all of them in 0\.\.95"):
        target.reference(tokens)
