"""Measure what the numbers of ``smollm2-135m-eagle3`` rest on; prints a table, and the tolerances it supports.

Run it from the repository's root, in the environment of ``tox -e smollm2``:
``PYTHONPATH=tests python tests/smollm2/measure.py``. Reference: float32, sinks excluded. Per boundary: how far a
correct capture is when computed in bfloat16 (median, p99, maximum over tokens) and when stored in bfloat16
(median); how far the neighbouring boundaries are (the smaller median); the same at sink tokens; and the norm.
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
from eagle3_contracts.subjects.targets.taps import find_decoder, tap_inputs
from support.smollm2 import find_model, read_texts, tokenize

Array = npt.NDArray[np.float32]


def run_texts(path: Path, dtype: str, texts: list[list[int]]) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Give boundaries [n+1, T, H], logits [T, V] and sinks [T] of all texts, one after the other."""
    import torch

    model = load_model(str(path), dtype)
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
    top = np.argsort(-logits, axis=-1)[:, :10]
    gap = np.take_along_axis(log_softmax(logits) - log_softmax(rough_logits), top, axis=-1)
    worst = np.abs(gap).max(axis=-1)
    out(f"logprob of the top 10, bf16: median {np.median(worst):.3f}, p99 {np.quantile(worst, 0.99):.3f}\n")
    out(f"largest median {max(medians):.4f}, smallest neighbour {min(nearest):.3f}\n")


if __name__ == "__main__":
    main()
