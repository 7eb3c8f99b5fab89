"""Measure what the numbers of ``smollm2-135m-eagle3`` rest on; prints a table, and the tolerances it supports.

Run it from the repository's root, in the environment of ``tox -e smollm2``:
``PYTHONPATH=tests python tests/smollm2/measure.py``. Reference: float32, sinks excluded. Per boundary: how far a
correct capture is when computed in bfloat16 (median, p99, maximum over tokens) and when stored in bfloat16
(median); how far the neighbouring boundaries are (the smaller median); the same at sink tokens; and the norm.
Then, in one line each, the largest median and the log-probabilities of float16, of float32 with eager attention and
of float32 against the float64 route.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eagle3_contracts.numerics import (
    bfloat16_to_float32,
    float32_to_bfloat16,
    log_softmax,
    relative_l2,
    sink_rows,
)
from eagle3_contracts.subjects.targets.hf_loading import load_model
from eagle3_contracts.subjects.targets.llama_numpy import forward
from eagle3_contracts.subjects.targets.shape import read_shape
from eagle3_contracts.subjects.targets.taps import find_decoder, tap_inputs
from support.smollm2 import find_model, read_texts, tokenize

Array = npt.NDArray[np.float32]


def say_gap(exact: Array, other: Array) -> str:
    """Say the largest difference of log-probability over the top 10 of ``exact``, over tokens."""
    top = np.argsort(-exact, axis=-1)[:, :10]
    gap = np.take_along_axis(log_softmax(exact) - log_softmax(other), top, axis=-1)
    worst = np.abs(gap).max(axis=-1)
    return f"median {np.median(worst):.2g}, p99 {np.quantile(worst, 0.99):.2g}"


def largest_median(states: Array, exact: Array, sinks: npt.NDArray[np.bool_]) -> float:
    """Give the largest median over boundaries of the relative L2, sinks left out."""
    return float(np.median(relative_l2(states, exact)[:, ~sinks], axis=1).max())


def run_in_float64(path: Path, texts: list[list[int]]) -> tuple[Array, Array]:
    """Give boundaries and logits of all texts by the project's own route in numpy, float64."""
    model = load_model(str(path), "float32")
    weights = {name.removeprefix("model."): value.numpy() for name, value in model.state_dict().items()}
    shape = read_shape(model.config.to_dict())
    runs = [forward(weights.get, shape, np.asarray(tokens)) for tokens in texts]
    head = weights["embed_tokens.weight"].T.astype(np.float64)
    logits = [(run.final @ head).astype(np.float32) for run in runs]
    return np.concatenate([run.boundaries for run in runs], axis=1).astype(np.float32), np.concatenate(logits)


def run_texts(
    path: Path, dtype: str, texts: list[list[int]], attention: str = ""
) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Give boundaries [n+1, T, H], logits [T, V] and sinks [T] of all texts, one after the other."""
    import torch

    model = load_model(str(path), dtype)
    if attention:
        model.set_attn_implementation(attention)
    decoder = find_decoder(model, str(path))
    states, logits = [], []
    for tokens in texts:
        seen: dict[int, torch.Tensor] = {}
        taps = dict(enumerate((*decoder.layers, decoder.norm)))
        with torch.inference_mode(), tap_inputs(taps, seen.__setitem__):
            logits.append(model(torch.tensor([tokens])).logits[0].float().numpy())
        states.append(np.stack([seen[key][0].float().numpy() for key in taps]))
    sinks = np.concatenate([sink_rows(state) for state in states])
    return np.concatenate(states, axis=1), np.concatenate(logits), sinks


def main() -> None:
    """Print everything."""
    path = find_model()
    texts = tokenize(path, read_texts())
    exact, logits, sinks = run_texts(path, "float32", texts)
    rough, rough_logits, _ = run_texts(path, "bfloat16", texts)
    stored = bfloat16_to_float32(float32_to_bfloat16(exact))
    out = sys.stdout.write
    out(f"{len(sinks)} tokens, {sinks.sum()} sinks at {np.flatnonzero(sinks).tolist()}\n")
    out("boundary  bf16: median p99 max  stored  neighbour  sink: bf16 neighbour  norm: median max\n")
    medians, nearest = [], []
    for k in range(len(exact)):
        error, rounding = relative_l2(rough[k], exact[k]), relative_l2(stored[k], exact[k])
        beside = [relative_l2(exact[j], exact[k]) for j in (k - 1, k + 1) if 0 <= j < len(exact)]
        medians.append(np.median(error[~sinks]))
        nearest.append(min(np.median(other[~sinks]) for other in beside))
        norm = np.linalg.norm(exact[k], axis=-1)
        out(
            f"{k:8d}  {medians[-1]:.4f} {np.quantile(error[~sinks], 0.99):.4f} {error.max():.4f}"
            f"  {np.median(rounding[~sinks]):.5f}  {nearest[-1]:.3f}"
            f"  {np.median(error[sinks]):.4f} {min(np.median(other[sinks]) for other in beside):.4f}"
            f"  {np.median(norm):.1f} {norm.max():.0f}\n"
        )
    out(f"logprob of the top 10, bf16: {say_gap(logits, rough_logits)}\n")
    out(f"largest median {max(medians):.4f}, smallest neighbour {min(nearest):.3f}\n")
    halved = exact.astype(np.float16).astype(np.float32)
    out(f"stored in float16: largest median {largest_median(halved, exact, sinks):.2g}\n")
    others = {
        "computed in float16": run_texts(path, "float16", texts)[:2],
        "float32, eager attention": run_texts(path, "float32", texts, attention="eager")[:2],
        "float64 route": run_in_float64(path, texts),
    }
    for name, (states, other) in others.items():
        out(f"{name}: largest median {largest_median(states, exact, sinks):.2g}, logprob {say_gap(logits, other)}\n")


if __name__ == "__main__":
    main()
