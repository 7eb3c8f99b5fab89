"""The last sublayer's own output in each decoder layer: what a tap shows when the residual is not added."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_PARALLEL = 0.99
"""Cosine from which the difference of two states is the sublayer's output (in bfloat16 it is above 0.999)."""


@dataclass(slots=True)
class _Passage:
    """What passed a layer's direct children: the states that entered them, and what left the last one."""

    entered: list[Tensor] = field(default_factory=list)
    left: Tensor | None = None


@contextmanager
def tap_branches(layers: Sequence[Module], keep: Callable[[int, Tensor], None]) -> Iterator[None]:
    """Give ``keep(k, branch)`` what the last sublayer of layer k adds to the residual stream.

    That is the difference between the layer's output and a state that entered one of its children (the residual
    stream before the last sublayer), if it points where the last child's output does: true of Llama, where the
    last child is the MLP, of Gemma, where a norm follows it, and of models that scale it. Layers built otherwise
    are left out.
    """
    with ExitStack() as stack:
        for index, layer in enumerate(layers):
            passage = _Passage()
            for child in layer.children():
                stack.callback(child.register_forward_pre_hook(_enter(passage), with_kwargs=True).remove)
                stack.callback(child.register_forward_hook(_leave(passage)).remove)
            stack.callback(layer.register_forward_hook(_finish(passage, index, keep)).remove)
        yield


def _enter(passage: _Passage) -> Callable[..., None]:
    def hook(_: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        state: Any = args[0] if args else kwargs.get("hidden_states")
        if hasattr(state, "detach"):
            passage.entered.append(state.detach().clone())

    return hook


def _leave(passage: _Passage) -> Callable[..., None]:
    def hook(_: Module, __: object, output: Any) -> None:
        state = output[0] if isinstance(output, tuple) else output
        if hasattr(state, "detach"):
            passage.left = state.detach().clone()

    return hook


def _finish(passage: _Passage, index: int, keep: Callable[[int, Tensor], None]) -> Callable[..., None]:
    def hook(_: Module, __: object, output: Any) -> None:
        state = output[0] if isinstance(output, tuple) else output
        branch = _find_branch(state.detach(), passage)
        passage.entered, passage.left = [], None
        if branch is not None:
            keep(index, branch)

    return hook


def _find_branch(state: Tensor, passage: _Passage) -> Tensor | None:
    """Give the part of ``state`` that the last child added, or None if no state that entered explains it.

    Of several that do, the best: in SmolLM2's first layer the MLP adds ten times more than was there, so that
    taking any small state away leaves almost its output.
    """
    from torch.nn.functional import cosine_similarity

    if passage.left is None or passage.left.numel() != state.numel():
        return None
    last = passage.left.reshape(state.shape).float()
    added = [state.float() - before.float() for before in passage.entered if before.shape == state.shape]
    likeness = [float(cosine_similarity(difference, last, dim=-1).median()) for difference in added]
    best = max(likeness, default=0.0)
    return added[likeness.index(best)] if best > _PARALLEL else None
