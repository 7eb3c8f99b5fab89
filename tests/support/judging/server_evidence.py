"""Evidence of a sound live server of the toy target, to be changed in one place at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from eagle3_contracts.evidence import Problem
from eagle3_contracts.evidence.server import (
    Counters,
    ServedAnswer,
    ServedModel,
    ServedPrediction,
    ServedProbe,
    ServerArguments,
    ServerEvidence,
    ServerRole,
    TokenLogprobs,
)
from support.judging.comparisons import DECLARED, Plane, compare, rebuild_logits
from support.judging.documents import HIDDEN, LAYERS, VOCAB

LENGTHS = (17, 33, 58, 90)
NEW, TOP = 24, 12
SOUND = (5, 4, 2, 1)
"""Rounds that accepted 0, 1, 2 and 3 tokens: with the first token they make 24."""

TARGET_CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "vocab_size": VOCAB,
    "torch_dtype": "bfloat16",
}
DRAFT_CONFIG = {
    "architectures": ["LlamaForCausalLMEagle3"],
    "hidden_size": HIDDEN,
    "intermediate_size": 16,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "vocab_size": VOCAB,
    "draft_vocab_size": 32,
    "max_position_embeddings": 2048,
    "eagle_config": {"eagle_aux_hidden_state_layer_ids": [1, 3, 5]},
}


def arguments(role: ServerRole = "eagle3", **changes: Any) -> ServerArguments:
    """Give what a sound server says of itself."""
    drafts = role == "eagle3"
    said = ServerArguments(
        raw={},
        version="0.5.23",
        target=ServedModel("/models/toy", TARGET_CONFIG),
        draft=ServedModel("/models/draft", DRAFT_CONFIG) if drafts else None,
        algorithm=None if role == "plain" else "EAGLE3",
        steps=3 if drafts else None,
        topk=1 if drafts else None,
        draft_tokens=4 if drafts else None,
        context_length=2048,
        capture_ids=(1, 3, 5) if role == "capture" else None,
        chunked_prefill=-1,
        radix_cache=False,
        returns_hidden_states=True,
        dtype="bfloat16",
        draft_dtype="bfloat16" if drafts else None,
        attention_backend="triton",
        device="cuda",
    )
    return dataclasses.replace(said, **changes)


def counters(accepted: tuple[int, ...] = SOUND, given: int = NEW, **changes: Any) -> Counters:
    """Give sound counters of one answer."""
    rounds = sum(accepted)
    return dataclasses.replace(Counters(rounds, accepted, given / max(rounds, 1), given), **changes)


@cache
def _predict(length: int) -> tuple[tuple[int, ...], ServedPrediction]:
    draw = np.random.default_rng(length)
    prompt = tuple(int(item) for item in draw.integers(0, VOCAB, length))
    rows = length + NEW
    logits = draw.normal(0, 3, size=(rows, VOCAB))
    logprobs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    top = np.argsort(-logprobs, axis=-1)[:, :TOP]
    best = np.take_along_axis(logprobs, top, axis=-1)
    output = tuple(int(token) for token in top[length - 1 : length - 1 + NEW, 0])
    gaps = np.full(NEW, 2.0)
    gaps[3] = 0.1
    return prompt, ServedPrediction(output, gaps, top, best, accepted=SOUND)


def answer(length: int, role: ServerRole = "eagle3", **changes: Any) -> ServedAnswer:
    """Give the sound answer to a prompt of ``length`` tokens."""
    prompt, prediction = _predict(length)
    sequence = (*prompt, *prediction.output_ids)
    width = HIDDEN * (1 if role == "plain" else 3)
    rows = np.random.default_rng(length + 1).normal(size=(length, width)).astype(np.float32)
    said = ServedAnswer(
        token_ids=prompt,
        output_ids=prediction.output_ids,
        finish="length",
        prompt_tokens=length,
        cached_tokens=0,
        rows=rows,
        logprobs=tuple(_likelihood(prediction, sequence, row) for row in range(len(sequence) - 1)),
        counters=counters() if role == "eagle3" else None,
    )
    return dataclasses.replace(said, **changes)


def _likelihood(prediction: ServedPrediction, sequence: tuple[int, ...], row: int, off: float = 0.01) -> TokenLogprobs:
    ids = tuple(int(item) for item in prediction.top_ids[row][:10])
    values = tuple(float(item) + off for item in prediction.top_logprobs[row][:10])
    token = sequence[row + 1]
    return TokenLogprobs(row, token, dict(zip(ids, values, strict=True)).get(token), ids, values)


def probe(length: int, role: ServerRole = "eagle3", **changes: Any) -> ServedProbe:
    """Give a probe that is answered well, alone, again and in a batch."""
    prompt, prediction = _predict(length)
    if role != "eagle3":
        prediction = dataclasses.replace(prediction, accepted=None, unpredicted="the server drafts nothing")
    said = answer(length, role)
    return dataclasses.replace(ServedProbe(prompt, said, said, said, prediction), **changes)


def sound_server(role: ServerRole = "eagle3", **changes: Any) -> ServerEvidence:
    """Give the evidence of a server in which nothing is wrong."""
    planes = (Plane(LAYERS, state="n"),) if role == "plain" else DECLARED[:3]
    evidence = ServerEvidence(
        "toy:30000",
        url="http://toy:30000",
        role=role,
        arguments=arguments(role),
        probes=tuple(probe(length, role) for length in LENGTHS),
        batch_size=16,
        comparison=compare_server(*planes),
    )
    return dataclasses.replace(evidence, **changes)


def compare_server(*planes: Plane, **changes: Any) -> Any:
    """Make up what the target tells of a server's planes; a single one is a final state with its logits."""
    final = len(planes) == 1
    said = compare(
        planes,
        logits=rebuild_logits(0, reading="post_norm") if final else (),
        embedding=(1.3,) * len(planes),
        norm_rms=(1.0,) if final else (0.9,) * len(planes),
    )
    return dataclasses.replace(said, **changes)


def say(role: ServerRole = "eagle3", **changes: Any) -> ServerEvidence:
    """Give a sound server that says something else of itself."""
    return sound_server(role, arguments=arguments(role, **changes))


def change_answers(
    change: Callable[[ServedAnswer], ServedAnswer],
    *,
    role: ServerRole = "eagle3",
    runs: tuple[str, ...] = ("alone", "repeated", "batched"),
    at: tuple[int, ...] = (0, 1, 2, 3),
    **changes: Any,
) -> ServerEvidence:
    """Give a sound server of which some answers are changed."""
    sound = sound_server(role, **changes)
    probes = tuple(
        dataclasses.replace(item, **{run: change(getattr(item, run)) for run in runs}) if number in at else item
        for number, item in enumerate(sound.probes)
    )
    return dataclasses.replace(sound, probes=probes)


def broken(kind: str, reason: str = "nothing came for 60 s", answered: int = 0, **changes: Any) -> ServerEvidence:
    """Give a server that ceased to answer after some probes."""
    sound = sound_server(**changes)
    probes = tuple(
        item if number < answered else dataclasses.replace(item, alone=None, repeated=None, batched=None)
        for number, item in enumerate(sound.probes)
    )
    problem = Problem(kind, reason, "look into the server's log")
    return dataclasses.replace(sound, probes=probes, comparison=None, problems=(problem,))


def gone(kind: str = "unreachable", reason: str = "http://toy:30000 takes no connection") -> ServerEvidence:
    """Give a server that never answered."""
    return ServerEvidence("toy:30000", url="http://toy:30000", problems=(Problem(kind, reason, "start the server"),))
