"""Taps on a transformers model: where its residual stream can be read, whatever the architecture.

``hidden_states[n]`` of transformers is the state *after* the final norm, so nothing here reads it
(transformers/utils/output_capturing.py, ``tie_last_hidden_states``). A tap copies what it sees: some
decoder layers add to their input in place, and a tapped tensor would change after the tap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eagle3_contracts.subjects import SubjectError

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_FINAL_NORMS = ("norm", "final_layernorm", "final_layer_norm", "final_norm", "ln_f", "norm_f")


@dataclass(frozen=True, slots=True)
class Decoder:
    """The parts of a language model that its residual stream passes: the layers in order, and the final norm."""

    model: Any
    layers: tuple[Module, ...]
    norm: Module

    @property
    def device(self) -> Any:
        """Where token ids must lie."""
        return self.model.get_input_embeddings().weight.device


def find_decoder(model: Any, source: str) -> Decoder:
    """Find the decoder layers and the final norm of any causal model, inside a multimodal wrapper too.

    The layers are the module list as long as the language model's config says, nearest to its decoder; the
    final norm stands beside it. Raises ``SubjectError`` with what was found if either cannot be told.
    """
    count = model.config.get_text_config(decoder=True).num_hidden_layers
    owner, layers = _find_layers(model.get_decoder(), count, source)
    norms = [name for name in _FINAL_NORMS if getattr(owner, name, None) is not None]
    if len(norms) != 1:
        beside = ", ".join(name for name, _ in owner.named_children())
        reason = f"no final norm can be told beside the {count} decoder layers; {type(owner).__name__} has {beside}"
        raise SubjectError(source, reason, remedy="write a capture of your own for this architecture")
    return Decoder(model, tuple(layers), getattr(owner, norms[0]))


def _find_layers(decoder: Any, count: int, source: str) -> tuple[Module, list[Module]]:
    from torch.nn import ModuleList

    found = [
        (len(name.split(".")) if name else 0, owner, list(child))
        for name, owner in decoder.named_modules()
        for child in owner.children()
        if isinstance(child, ModuleList) and len(child) == count
    ]
    nearest = min((depth for depth, _, _ in found), default=0)
    at_hand = [(owner, layers) for depth, owner, layers in found if depth == nearest]
    if len(at_hand) != 1:
        reason = f"{len(at_hand)} lists of {count} decoder layers found in {type(decoder).__name__}, not one"
        raise SubjectError(source, reason, remedy="write a capture of your own for this architecture")
    return at_hand[0]


@contextmanager
def tap_inputs(modules: dict[Any, Module], keep: Callable[[Any, Tensor], None]) -> Iterator[None]:
    """Give what enters each module to ``keep(key, state)``, copied, as long as the context lasts."""

    def tap(key: Any) -> Callable[..., None]:
        def hook(_: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            keep(key, _copy(args[0] if args else kwargs["hidden_states"]))

        return hook

    with ExitStack() as stack:
        for key, module in modules.items():
            handle = module.register_forward_pre_hook(tap(key), with_kwargs=True)
            stack.callback(handle.remove)
        yield


@contextmanager
def tap_outputs(modules: dict[Any, Module], keep: Callable[[Any, Tensor], None]) -> Iterator[None]:
    """Give what leaves each module (the first of a tuple) to ``keep(key, state)``, copied."""

    def tap(key: Any) -> Callable[..., None]:
        def hook(_: Module, __: object, output: Any) -> None:
            keep(key, _copy(output[0] if isinstance(output, tuple) else output))

        return hook

    with ExitStack() as stack:
        for key, module in modules.items():
            stack.callback(module.register_forward_hook(tap(key)).remove)
        yield


def _copy(state: Tensor) -> Tensor:
    return state.detach().clone()
