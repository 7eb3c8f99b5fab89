"""Two independent forwards of a Llama agree with each other, and ablations of each are seen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eagle3_contracts.contract import Contract
from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence import ReferenceStates
from eagle3_contracts.numerics import relative_l2
from eagle3_contracts.subjects.targets import Target, open_target
from support.scaling import scale_down
from support.targets import kimi_toy, toy_tokens

ROPES: dict[str, dict[str, Any]] = {
    "transformers 4": {"rope_theta": 20000.0},
    "transformers 5": {"rope_theta": None, "rope_parameters": {"rope_theta": 20000.0, "rope_type": "default"}},
    "linear": {"rope_scaling": {"type": "linear", "factor": 4.0}},
    "llama3": {
        "rope_parameters": {
            "rope_type": "llama3",
            "rope_theta": 50000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 32,
        }
    },
}


def worst(found: ReferenceStates, expected: ReferenceStates) -> float:
    """The largest relative L2 of any row of any state."""
    pairs = ((found.boundaries, expected.boundaries), (found.final, expected.final), (found.logits, expected.logits))
    return max(float(relative_l2(own, theirs).max()) for own, theirs in pairs)


def test_numpy_and_torch_agree(tiny: Contract, reference: ReferenceStates, tokens: tuple[int, ...]) -> None:
    found = open_target(str(embedded_target()), tiny, route="torch").reference(tokens)
    assert worst(found, reference) < 1e-5
    assert found.branches is not None
    assert reference.branches is not None
    assert relative_l2(found.branches, reference.branches).max() < 1e-5


def test_a_reference_has_the_shapes_it_promises(reference: ReferenceStates, tokens: tuple[int, ...]) -> None:
    assert reference.boundaries.shape == (9, len(tokens), 64)
    assert reference.final.shape == (len(tokens), 64)
    assert reference.logits.shape == (len(tokens), 256)
    assert reference.token_ids.tolist() == list(tokens)
    assert {array.dtype for array in (reference.boundaries, reference.final, reference.logits)} == {np.dtype("f4")}


def test_a_branch_is_what_the_last_sublayer_adds(reference: ReferenceStates) -> None:
    assert reference.branches is not None
    for layer, branch in enumerate(reference.branches):
        without = reference.boundaries[layer + 1] - branch
        attended = without - reference.boundaries[layer]
        assert np.linalg.norm(attended, axis=-1).min() > 0
        assert np.linalg.norm(without, axis=-1).min() > 0


def test_a_prefix_gives_the_same_states(target: Target, reference: ReferenceStates, tokens: tuple[int, ...]) -> None:
    prefix = target.reference(tokens[:20])
    assert relative_l2(prefix.boundaries, reference.boundaries[:, :20]).max() < 1e-6


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_near_and_not_equal(
    tiny: Contract, reference: ReferenceStates, tokens: tuple[int, ...], dtype: str
) -> None:
    found = open_target(str(embedded_target()), tiny, dtype, route="torch").reference(tokens)
    tolerance = tiny.tolerance_for(dtype)
    assert tolerance is not None
    medians = np.median(relative_l2(found.boundaries, reference.boundaries), axis=-1)
    assert medians[0] == 0
    assert medians[1:].min() > 1e-5
    assert medians.max() < tolerance.relative_l2_median


@pytest.mark.parametrize("rope", ROPES)
def test_every_rope_agrees_and_matters(tmp_path: Path, tiny: Contract, rope: str) -> None:
    folder, contract, text = kimi_toy(tmp_path / "toy", layers=8), scale_down(tiny), toy_tokens(64)
    plain = open_target(str(folder), contract, route="numpy").reference(text)
    config = json.loads((folder / "config.json").read_text()) | ROPES[rope]
    (folder / "config.json").write_text(json.dumps({key: item for key, item in config.items() if item is not None}))
    slow, fast = (open_target(str(folder), contract, route=route).reference(text) for route in ("numpy", "torch"))
    assert worst(fast, slow) < 1e-4
    assert worst(slow, plain) > 0.01


@pytest.mark.parametrize("bad", [[], [256], [-1], [3, 999]])
@pytest.mark.parametrize("route", ["numpy", "torch"])
def test_ids_outside_the_vocabulary_are_refused(tiny: Contract, bad: list[int], route: Any) -> None:
    with pytest.raises(ValueError, match=r"not all of them in 0\.\.255"):
        open_target(str(embedded_target()), tiny, route=route).reference(bad)
