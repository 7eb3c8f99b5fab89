"""What a live server said of itself, answered to probes, and should have answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from eagle3_contracts.evidence.problem import Array, Problem
from eagle3_contracts.evidence.target import TargetComparison

ServerRole = Literal["eagle3", "capture", "plain"]
"""``eagle3``: a drafter is loaded and drafts. ``capture``: planes are returned, nothing is drafted (SGLang >= 0.5.23).
``plain``: neither; its hidden states are the final state."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model as the server names it: its path or name, and its config.json where that lies on this machine."""

    path: str
    config: Mapping[str, Any] | None = None
    problem: Problem | None = None


@dataclass(frozen=True, slots=True)
class ServerArguments:
    """What the server says of its own arguments, after it has rewritten them; None for what it does not say.

    ``raw``: the whole answer. ``draft_tokens``, ``steps``, ``topk``: as they are in effect. ``context_length``: tokens
    that one request may have. ``capture_ids``: ids of its capture flag, in the order given. ``chunked_prefill``: tokens
    of a chunk, -1 for none. ``radix_cache``: prefixes are cached. ``returns_hidden_states``: the flag that allows them.
    ``asked_draft_tokens``: what the command asked for that started it, where that is known (a launched server).
    """

    raw: Mapping[str, Any]
    engine: str = "sglang"
    version: str | None = None
    target: ServedModel | None = None
    draft: ServedModel | None = None
    algorithm: str | None = None
    steps: int | None = None
    topk: int | None = None
    draft_tokens: int | None = None
    asked_draft_tokens: int | None = None
    context_length: int | None = None
    capture_ids: tuple[int, ...] | None = None
    chunked_prefill: int | None = None
    radix_cache: bool | None = None
    returns_hidden_states: bool | None = None
    dtype: str | None = None
    draft_dtype: str | None = None
    quantization: str | None = None
    draft_quantization: str | None = None
    attention_backend: str | None = None
    device: str | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """What the server counted while it answered one request; ``accepted``: rounds that accepted 0, 1, ... tokens.

    Zeros at the end of ``accepted`` say nothing: SGLang leaves them out. The last round counts all that it accepted,
    also beyond the tokens that were asked for.

    ``rounds``: its verify count. ``accept_length``: as it states it, tokens per round. ``completion_tokens``: given.
    """

    rounds: int | None = None
    accepted: tuple[int, ...] | None = None
    accept_length: float | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TokenLogprobs:
    """Log-probabilities at one position: of the token there, and of the most likely ones. None for what is not given.

    ``position``: the row of the sequence whose state predicts the token (the token itself is one later).
    """

    position: int
    token_id: int
    logprob: float | None
    top_ids: tuple[int, ...] = ()
    top_logprobs: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class ServedAnswer:
    """One answer to one request.

    ``token_ids``: the prompt asked for. ``prompt_tokens``, ``cached_tokens``: as the server counts them.
    ``rows`` [R, W]: hidden states of the prompt, None if none came; ``later_rows`` [L, W]: of the tokens generated.
    ``ragged``: hidden states came that are no table, in words. ``logprobs``: of prompt and output positions.
    ``asked_states``: this very request asked for hidden states (a large batch does not).
    """

    token_ids: tuple[int, ...]
    output_ids: tuple[int, ...]
    finish: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    rows: Array | None = None
    later_rows: Array | None = None
    ragged: str = ""
    logprobs: tuple[TokenLogprobs, ...] = ()
    counters: Counters | None = None
    asked_states: bool = False


@dataclass(frozen=True, slots=True)
class ServedPrediction:
    """What target and drafter, run here in float32, say that one request should have been answered with.

    ``output_ids``: the target's greedy text after the prompt. ``gaps`` [N]: between its two largest logits at each
    of these tokens, in nats. ``top_ids`` [M, K], ``top_logprobs`` [M, K]: the target's most likely tokens at every
    row of prompt and output, ``log_sum_exp`` is contained. ``recorded``: they come from the golden recording, else
    from a target run now, which is what gathering does. ``accepted``: the histogram of an offline simulation of the
    served draft in float32 (steps, topk and draft tokens of the server's own arguments), None where it does not apply
    (``unpredicted`` says why). ``accepted_as_served``: the same for the text that the server gave, where that parts
    from the target's; it says something only if the two part where the target's choice is not clear.
    """

    output_ids: tuple[int, ...]
    gaps: npt.NDArray[np.float64]
    top_ids: npt.NDArray[np.int64]
    top_logprobs: npt.NDArray[np.float64]
    recorded: bool = False
    accepted: tuple[int, ...] | None = None
    accepted_as_served: tuple[int, ...] | None = None
    unpredicted: str = ""


@dataclass(frozen=True, slots=True)
class ServedProbe:
    """One probe: the request, answered alone, again, and within a batch; and what it should have been.

    ``alone``, ``repeated``, ``batched``: None for a run that did not come about (a problem says why).
    """

    token_ids: tuple[int, ...]
    alone: ServedAnswer | None = None
    repeated: ServedAnswer | None = None
    batched: ServedAnswer | None = None
    prediction: ServedPrediction | None = None


@dataclass(frozen=True, slots=True)
class ServerEvidence:
    """What is known of one live server.

    ``url``: without credentials. ``role``: None until it is known. ``asked_role``: what the user said that the server
    is for, None where only a URL was given; a server that drafts nothing then fails. ``comparison``: the planes of
    ``probes`` (their ``alone.rows``, split by hidden size, in the order given) against the reference target; for a
    plain server the one plane is its final state. ``later``: the same of the rows of generated tokens, which another
    forward computes (a round of verification, or the replay of a graph). ``batch_size``: of the batched run.
    ``stand_ins``: parts of the server that are no engine's own (an operator library for CPUs); every finding of that
    subject says so.
    ``problems``: kinds ``unreachable``, ``timeout``, ``status``, ``no-json``, ``too-large``, ``truncated``,
    ``malformed``, ``foreign`` (an answer to another request), ``exited`` (a launched server is gone; its log's end is
    quoted), ``target``, ``needs``.
    """

    subject: str
    url: str = ""
    role: ServerRole | None = None
    asked_role: ServerRole | None = None
    arguments: ServerArguments | None = None
    probes: tuple[ServedProbe, ...] = ()
    batch_size: int = 0
    comparison: TargetComparison | None = None
    later: TargetComparison | None = None
    stand_ins: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = field(default=())
