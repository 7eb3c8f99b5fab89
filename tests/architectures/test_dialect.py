"""The dialect of ``output_hidden_states`` is what transformers does: checked on a real, tiny, random Llama."""

from __future__ import annotations

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.dialects import Dialect, find_dialect

LAYERS = 3
States = tuple[tuple[torch.Tensor, ...], dict[Tap, torch.Tensor]]


@pytest.fixture(scope="module")
def states() -> States:
    """``hidden_states``, and the residual stream by hooks: the inputs of every layer and of the final norm."""
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 24, "num_attention_heads": 2, "vocab_size": 32}
    model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=LAYERS, **shape)).eval()
    torch.nn.init.uniform_(model.model.norm.weight, 0.5, 2.0)
    taken: dict[Tap, torch.Tensor] = {}

    def keep(tap: Tap):
        return lambda _module, inputs: taken.__setitem__(tap, inputs[0].clone())

    for index, layer in enumerate(model.model.layers):
        layer.register_forward_pre_hook(keep(Tap(index)))
    hook = model.model.norm.register_forward_pre_hook(keep(Tap(LAYERS, "pre_norm")))
    with torch.no_grad():
        out = model(torch.tensor([[1, 5, 9, 2]]), output_hidden_states=True)
        hook.remove()
        taken[Tap(LAYERS, "post_norm")] = model.model.norm(taken[Tap(LAYERS, "pre_norm")])
    return out.hidden_states, taken


@pytest.fixture(scope="module")
def dialect() -> Dialect:
    found = find_dialect("transformers", "5.19.0", "LlamaForCausalLM")
    assert isinstance(found, Dialect)
    return found


@pytest.mark.parametrize("index", range(-LAYERS - 1, LAYERS + 1))
def test_every_index_is_the_tap_that_the_dialect_says(states: States, dialect: Dialect, index: int) -> None:
    hidden_states, taken = states
    (tap,) = dialect.resolve([index], LAYERS).taps
    torch.testing.assert_close(hidden_states[index], taken[tap])
    others = (other for other in taken if other != tap)
    assert all((hidden_states[index] - taken[other]).abs().max() > 1e-3 for other in others)


@pytest.mark.parametrize("index", [LAYERS + 1, -LAYERS - 2])
def test_an_index_beyond_the_tuple_raises_as_the_dialect_says(states: States, dialect: Dialect, index: int) -> None:
    with pytest.raises(IndexError):
        states[0][index]
    assert not dialect.resolve([index], LAYERS).runs
