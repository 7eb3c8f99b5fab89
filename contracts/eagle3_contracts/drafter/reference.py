"""The reference drafter: embedding and state into the layers, logits and the next state out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from eagle3_contracts.contract import Contract
from eagle3_contracts.drafter.activations import activate
from eagle3_contracts.drafter.attention import DraftAttention, KeyValue, mix_values
from eagle3_contracts.drafter.front import Front, find_visible
from eagle3_contracts.drafter.rotary import Rotation
from eagle3_contracts.drafter.shapes import expected_tensors
from eagle3_contracts.drafter.weights import DrafterWeights

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """One step over a whole sequence: ``logits`` [T, D], ``state`` [T, H] that the next step gets.

    ``tokens`` [T]: what was embedded. ``valid`` [T]: rows for which the text still has that token, within their
    document; trainers take no loss from the others.
    """

    logits: Tensor
    state: Tensor
    tokens: Tensor
    valid: Tensor


@dataclass(slots=True)
class _Surroundings:
    """What the rows of one step attend to while they pass the layers; a layer adds its own keys and values."""

    rotation: Rotation
    visible: Tensor
    shared: list[KeyValue | None]
    trail: list[tuple[KeyValue, ...]] | None

    def add(self, layer: int, own: KeyValue) -> tuple[KeyValue, tuple[KeyValue, ...]]:
        """Add the rows' own keys: to the shared ones at step 0, to the trail afterwards; give both."""
        import torch

        earlier = self.shared[layer]
        if self.trail is not None:
            assert earlier is not None, "step 0 comes first"  # noqa: S101 (for the type checker)
            self.trail[layer] = (*self.trail[layer], own)
            return earlier, self.trail[layer]
        joined = (
            own if earlier is None else KeyValue(*(torch.cat(pair, dim=1) for pair in zip(earlier, own, strict=True)))
        )
        self.shared[layer] = joined
        return joined, ()


class ReferenceDrafter:
    """The drafter that a contract describes, with given tensors; one sequence, packed ones by ``documents``.

    ``weights`` by canonical name (``expected_tensors``), borrowed ones included (``fill_borrowed``); others are
    not read and stand in ``unread``. Raises ``WeightsError`` with every missing, misshapen or mistyped tensor.
    Embedding rows are taken as stored: no tool applies the target's ``embed_scale`` to a drafter.
    """

    def __init__(self, contract: Contract, weights: Mapping[str, Tensor], dtype: torch.dtype | None = None) -> None:
        import torch

        self.contract, self.drafter = contract, contract.drafter
        norm = self.drafter.norm or contract.target.norm
        self.weights = DrafterWeights(weights, expected_tensors(contract), norm, dtype or torch.float32)
        self.unread = self.weights.unread
        self.attention = DraftAttention(self.drafter.attention, self.drafter.rope, self.drafter.max_position)

    def target_ids(self) -> Tensor:
        """Give the target's token id of every draft id, [D] int64, by d2t as the contract reads it."""
        import torch

        ids = torch.arange(self.drafter.draft_vocab_size)
        if self.drafter.d2t == "none":
            return ids
        d2t = self.weights["d2t"]
        return d2t if self.drafter.d2t == "absolute" else ids.to(d2t.device) + d2t

    def forward(
        self,
        fc_input: Tensor,
        tokens: Tensor,
        positions: Tensor | None = None,
        *,
        steps: int = 1,
        documents: Tensor | None = None,
        tokens_from: Literal["text", "draft"] = "text",
    ) -> tuple[Step, ...]:
        """Run test-time-training steps over a whole sequence, all rows at once.

        ``fc_input`` [T, planes x Ht], ``tokens`` [T] as a loader pairs them (row t: the token after state t).
        Step k embeds the text's tokens shifted left by k, zeros behind, or with ``draft`` what the step before
        drafted, as a server does; its positions are k further on; a row attends to rows of step 0 up to its own,
        and to its own later steps. ``documents`` [T]: packed documents stay apart, -1 is padding.
        """
        import torch

        front = self.begin(fc_input, tokens, positions, documents=documents)
        embedded, done = tokens, []
        for step in range(steps):
            done.append(Step(front.logits, front.state, embedded, find_valid(len(tokens), step, documents)))
            if step + 1 == steps:
                break
            if tokens_from == "draft":
                embedded = self.target_ids()[front.logits.argmax(-1)]
            else:
                embedded = torch.cat((tokens[step + 1 :], torch.zeros_like(tokens[: step + 1])))
            front = self.advance(front, embedded)
        return tuple(done)

    def begin(
        self,
        fc_input: Tensor,
        tokens: Tensor,
        positions: Tensor | None = None,
        *,
        documents: Tensor | None = None,
        past: Front | None = None,
    ) -> Front:
        """Run step 0 over rows that carry the target's states; ``past``: after the rows of step 0 it holds.

        ``positions`` [T] or [axes, T]; absent, they count on from the rows before. ``documents`` speak of all rows.
        """
        import torch

        before = 0 if past is None else past.shared[0].key.shape[1]
        count = before + len(tokens)
        origin = torch.arange(before, count, device=tokens.device)
        positions = origin if positions is None else positions
        around = _Surroundings(
            self.attention.rotation(positions),
            find_visible(origin, count, documents, self.attention.window),
            [None] * self.drafter.layers if past is None else list(past.shared),
            None,
        )
        logits, state = self._pass(tokens, self.project_planes(fc_input), around)
        shared = tuple(keys for keys in around.shared if keys is not None)
        trail = ((),) * self.drafter.layers
        return Front(0, logits, state, origin, positions, shared, trail, documents)

    def advance(self, front: Front, tokens: Tensor, *, window_moves: bool = False) -> Front:
        """Run one step more over a front's rows, with one token [R] for each.

        ``window_moves``: a sliding window moves on with the step, as in engines; trainers keep that of step 0.
        """
        step, window = front.step + 1, self.attention.window
        moved = step if window_moves else 0
        visible = find_visible(front.origin, front.shared[0].key.shape[1], front.documents, window, moved)
        positions = front.positions + 1
        trail = [layer[-(window - 1) :] if window_moves and window and window > 1 else layer for layer in front.trail]
        if window_moves and window == 1:
            trail = [() for _ in trail]
        around = _Surroundings(self.attention.rotation(positions), visible, list(front.shared), trail)
        logits, state = self._pass(tokens, front.state, around)
        return Front(step, logits, state, front.origin, positions, front.shared, tuple(trail), front.documents)

    def project_planes(self, fc_input: Tensor) -> Tensor:
        """Give the first state [T, H] of the concatenated planes: norms, then fc, where the contract has them."""
        import torch

        fc, planes = self.drafter.fc, fc_input.to(self.weights.dtype)
        fed = len(self.drafter.input) * self.contract.target.hidden_size
        if planes.shape[-1] != fed:
            names = ", ".join(self.drafter.input)
            raise ValueError(f"fc_input is {planes.shape[-1]} wide, not {fed}: {names} of the target's width each")
        if fc.input_norm == "joint":
            planes = self.weights.normalise("input_norm", planes)
        if fc.input_norm == "per_plane":
            parts = planes.chunk(len(self.drafter.input), dim=-1)
            planes = torch.cat([self.weights.normalise(f"fc_norm.{i}", part) for i, part in enumerate(parts)], dim=-1)
        return self.weights.project("fc", planes) if fc.present else planes

    def _pass(self, tokens: Tensor, state: Tensor, around: _Surroundings) -> tuple[Tensor, Tensor]:
        """Give logits and the next step's state."""
        import torch

        state = self._first_layer(self.weights["embed_tokens.weight"][tokens], state, around)
        for layer in range(1, self.drafter.layers):
            normed = self.weights.normalise(f"layers.{layer}.input_layernorm", state)
            state = self._layer(layer, normed, state, around)
        normed = self.weights.normalise("norm", state) if "norm.weight" in self.weights else state
        head = self.weights["embed_tokens.weight" if self.drafter.lm_head == "embedding" else "lm_head.weight"]
        logits = torch.nn.functional.linear(normed if self.drafter.head_norm else state, head)
        return logits, normed if self.drafter.recurrent == "post_norm" else state

    def _first_layer(self, embedded: Tensor, state: Tensor, around: _Surroundings) -> Tensor:
        import torch

        weights, drafter = self.weights, self.drafter
        if drafter.embedding_norm:
            embedded = weights.normalise("layers.0.input_layernorm", embedded)
        chained = drafter.hidden_norm == "chained"
        inner = weights.normalise("layers.0.input_layernorm", state) if chained else state
        inner = weights.normalise("layers.0.hidden_norm", inner)
        residual = inner if drafter.residual == "post_norm" else state
        return self._layer(0, torch.cat((embedded, inner), dim=-1), residual, around)

    def _layer(self, layer: int, read: Tensor, residual: Tensor, around: _Surroundings) -> Tensor:
        weights, prefix = self.weights, f"layers.{layer}."
        query, own = self.attention.project(weights, f"{prefix}self_attn.", read, around.rotation)
        shared, trail = around.add(layer, own)
        sinks = weights.get(f"{prefix}self_attn.sinks")
        mixed = mix_values(query, shared, around.visible, trail, self.attention.scale, sinks)
        state = residual + weights.project(f"{prefix}self_attn.o_proj", mixed)
        normed = weights.normalise(f"{prefix}post_attention_layernorm", state)
        gate = activate(self.drafter.activation, weights.project(f"{prefix}mlp.gate_proj", normed))
        return state + weights.project(f"{prefix}mlp.down_proj", gate * weights.project(f"{prefix}mlp.up_proj", normed))


def find_valid(count: int, step: int, documents: Tensor | None) -> Tensor:
    """Tell for which of ``count`` rows the text reaches ``step`` tokens further, within their document; [count]."""
    import torch

    valid = torch.arange(count) < count - step
    if documents is not None:
        documents = documents.cpu()
        ahead = torch.cat((documents[step:], documents.new_full((min(step, count),), -1)))
        valid &= (ahead == documents) & (documents != -1)
    return valid
