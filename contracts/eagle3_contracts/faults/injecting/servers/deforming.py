"""Faults of what the server is and says: each deformation changes a sound stand-in in one way."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence import Array
from eagle3_contracts.faults.injecting.servers.answers import answer
from eagle3_contracts.faults.injecting.servers.connections import CONNECTION_FAULTS, on
from eagle3_contracts.faults.injecting.servers.editing import (
    ROW_FAULTS,
    Edit,
    edit_meta,
    lend_rows,
    lose_cached_rows,
    lose_chunked_rows,
)
from eagle3_contracts.faults.injecting.servers.engine import Engine
from eagle3_contracts.faults.injecting.servers.serving import Asked, Json, StandIn, serve

_LATE = 60
_STRIDE, _OFFSET = 7, 3


@contextmanager
def serve_fault(fault_id: str) -> Iterator[str]:
    """Serve one fault until the block ends; give the URL. ``KeyError`` for an unknown id."""
    with serve(deform(fault_id)) as url:
        yield url


def deform(fault_id: str) -> StandIn:
    """Give the stand-in with one fault: of its connections (``/generate`` alone), or of what it says."""
    stand_in = StandIn()
    if fault_id in CONNECTION_FAULTS:
        stand_in.hijack = on("/generate", CONNECTION_FAULTS[fault_id])
    else:
        CONTENT_FAULTS[fault_id](stand_in)
    return stand_in


Deformation = Callable[[StandIn], None]


def _inform(**changes: object) -> Deformation:
    def deformation(stand_in: StandIn) -> None:
        stand_in.inform = lambda info: info | changes

    return deformation


def _edit(edit: Edit) -> Deformation:
    def deformation(stand_in: StandIn) -> None:
        stand_in.edit = edit

    return deformation


def _engine(**changes: Any) -> Deformation:
    def deformation(stand_in: StandIn) -> None:
        stand_in.engine = replace(stand_in.engine, **changes)

    return deformation


def _role(role: str) -> Deformation:
    def deformation(stand_in: StandIn) -> None:
        stand_in.role = role  # type: ignore[assignment]

    return deformation


def _all(*several: Deformation) -> Deformation:
    def deformation(stand_in: StandIn) -> None:
        for one in several:
            one(stand_in)

    return deformation


def _other_words(tokens: tuple[int, ...]) -> tuple[int, ...]:
    """Read other words than are written, one for one: what a model with other weights comes to."""
    return tuple((token * _STRIDE + _OFFSET) % 256 for token in tokens)


def _other_choice(logits: Array) -> Array:
    """Swap the two largest logits of every row whose bits say so, one in five, however clear the choice was."""
    changed = logits.copy()
    for row in changed:
        if hashlib.sha256(np.round(row, 2).tobytes()).digest()[0] % 5 == 0:
            second, first = np.argsort(row)[-2:]
            row[[first, second]] = row[[second, first]]
    return changed


def _wrong(chain: list[int], first: int = 0) -> list[int]:
    return [token if at < first else (token + 1) % 256 for at, token in enumerate(chain)]


def _never_right(chain: list[int], _: int) -> list[int]:
    return _wrong(chain)


def _seldom_first(chain: list[int], known: int) -> list[int]:
    return _wrong(chain) if known % 5 < 3 else chain


def _decaying(chain: list[int], known: int) -> list[int]:
    return _wrong(chain, 1) if known % 4 else chain


def _late(chain: list[int], known: int) -> list[int]:
    return _wrong(chain) if known > _LATE else chain


def _answered_by(engine: Engine, when: Callable[[Asked], bool]) -> Deformation:
    """Let another engine answer some of the requests."""

    def deformation(stand_in: StandIn) -> None:
        def edit(given: Json, asked: Asked) -> Json:
            if not when(asked):
                return given
            return answer(engine, stand_in.role, asked.request, asked.prompt, given["meta_info"]["id"])

        stand_in.edit = edit

    return deformation


def _in_batch(asked: Asked) -> bool:
    return asked.batch > 1 and asked.place > 0


def _again(asked: Asked) -> bool:
    return asked.batch == 1 and asked.count > 0


def _drafts_2_of_16(stand_in: StandIn) -> None:
    _engine(steps=1)(stand_in)

    def inform(info: Json) -> Json:
        tokens = "--speculative-num-draft-tokens"
        return info | {"launch_command": info["launch_command"].replace(f"{tokens} 2", f"{tokens} 16")}

    stand_in.inform = inform


def _eagle(stand_in: StandIn) -> None:
    """EAGLE for an EAGLE-3 draft: one plane, the target's last, and nothing that is drafted is right."""
    _engine(draft=_never_right)(stand_in)
    _inform(speculative_algorithm="EAGLE")(stand_in)
    _edit(ROW_FAULTS["server-one-plane"])(stand_in)


def _final_before_norm(stand_in: StandIn) -> None:
    """Give the final state of a server without drafter before the final norm, where engines give it behind."""
    stand_in.role = "plain"

    def edit(given: Json, asked: Asked) -> Json:
        if not given["meta_info"].get("hidden_states"):
            return given
        done = stand_in.engine.decode(asked.prompt, len(given["output_ids"]))
        rows, prompt = done.boundaries[-1].tolist(), len(asked.prompt)
        return edit_meta(lambda _: {"hidden_states": [rows[:prompt], *rows[prompt:-1]]})(given, asked)

    stand_in.edit = edit


CONTENT_FAULTS: dict[str, Deformation] = {
    "server-other-target": _all(_engine(seen=_other_words), _inform(model_path="someone/other-llama")),
    "server-other-weights": _engine(seen=_other_words),
    "server-target-as-draft": _inform(speculative_draft_model_path=str(embedded_target())),
    "server-without-draft": _role("plain"),
    "server-captures-only": _role("capture"),
    "server-eagle-for-eagle3": _eagle,
    "server-drafts-2-of-16": _drafts_2_of_16,
    "server-context-beyond-positions": _inform(context_length=8192),
    "server-arguments-of-other-types": _inform(speculative_num_steps="three", disable_radix_cache="no"),
    "server-drafter-in-float16": _inform(dtype="half"),
    "server-quantised": _inform(quantization="fp8"),
    "server-states-forbidden": _inform(enable_return_hidden_states=False),
    "server-radix-cache": _all(_inform(disable_radix_cache=False), _edit(lose_cached_rows)),
    "server-chunked-prefill": _all(_inform(chunked_prefill_size=48), _edit(partial(lose_chunked_rows, 48))),
    "server-planes-swapped": _engine(taps=(4, 2, 5)),
    "server-ids-one-late": _engine(taps=(3, 5, 6)),
    "server-ids-one-early": _engine(taps=(1, 3, 4)),
    "server-embedding-first": _engine(taps=(0, 2, 4)),
    "server-logits-drifted": _engine(logits=lambda logits: logits * np.float32(0.9)),
    "server-choice-changed": _engine(logits=_other_choice),
    "server-first-position-low": _engine(draft=_seldom_first),
    "server-decays": _engine(draft=_decaying),
    "server-late-text-low": _engine(draft=_late),
    "server-batch-differs": _answered_by(Engine(logits=_other_choice), _in_batch),
    "server-batch-accepts-less": _answered_by(Engine(draft=_seldom_first), _in_batch),
    "server-repeat-differs": _answered_by(Engine(logits=_other_choice), _again),
    "server-repeat-accepts-less": _answered_by(Engine(draft=_seldom_first), _again),
    "server-rows-of-another": lambda stand_in: setattr(stand_in, "edit", lend_rows()),
    "server-final-before-norm": _final_before_norm,
    **{fault_id: _edit(edit) for fault_id, edit in ROW_FAULTS.items()},
    "server-counts-too-many-rounds": _edit(edit_meta(lambda meta: {"spec_verify_ct": meta["spec_verify_ct"] + 2})),
    "server-misstates-accept-length": _edit(
        edit_meta(lambda meta: {"spec_accept_length": meta["spec_accept_length"] - 1})
    ),
}
"""By id: what is changed in a sound stand-in."""

SERVER_INJECTIONS = (*CONNECTION_FAULTS, *CONTENT_FAULTS)
"""Every fault that ``serve_fault`` knows."""

PLAIN_FAULTS = frozenset({"server-final-before-norm"})
"""Faults of a server without a drafter, which is to be named so: ``plain=URL``."""
