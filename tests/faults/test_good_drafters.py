"""No false alarm: loaders, exports, launch commands and servers that keep to what is declared violate no must.

What real trainers export is judged beside their code, in tests/peers/*/test_checkpoint.py and test_files.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from eagle3_contracts.contract import Contract
from eagle3_contracts.faults.injecting.checkpoints import ENGINES, prepare_export
from eagle3_contracts.faults.injecting.exports import Export, Form
from eagle3_contracts.faults.injecting.launches import Launch
from eagle3_contracts.faults.injecting.servers import StandIn
from eagle3_contracts.faults.injecting.servers.engine import Engine
from eagle3_contracts.subjects import Subject
from eagle3_contracts.subjects.loaders.protocol import Loader
from eagle3_contracts.subjects.loaders.reference import make_reference_loader
from support.museum.conventions import CONVENTIONS, change_contract
from support.museum.exhibits import judge_server, judge_subject
from support.museum.good import assert_good

VLLM = {"vllm": ENGINES["vllm"]}
_HEADED = ("checkpoint.shapes", "checkpoint.tensors-read", "checkpoint.engine-tensors", "checkpoint.rope")


@pytest.mark.parametrize("dataset_format", ["speculators-v1", "speculators-arrow"])
@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_loader_that_keeps_to_a_convention_is_good(name: str, dataset_format: str, contract: Contract) -> None:
    declared = change_contract(contract, CONVENTIONS[name])

    def factory(asked: Contract) -> Loader:
        return make_reference_loader(asked, dataset_format).as_subject()

    assert_good(judge_subject(declared, Subject("loader", "good:factory", name, factory)), "loader.fc-input")


@dataclasses.dataclass(frozen=True)
class GoodExport:
    """``changes``: of the contract's drafter. ``edit``: what a sound export may have besides."""

    changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    form: Form = "specforge"
    engines: dict[str, str] = dataclasses.field(default_factory=lambda: dict(ENGINES))
    edit: Callable[[Export], Any] = lambda _export: None


def _keep(*keys: str) -> Callable[[Export], None]:
    """Leave rope keys of the other layout away."""

    def edit(export: Export) -> None:
        for key in {"rope_theta", "rope_scaling", "rope_parameters"} - set(keys):
            export.config.pop(key)

    return edit


def _own_ids(export: Export) -> None:
    """State the ids for vLLM alone, in its own dialect and at the top."""
    export.config.pop("eagle_config")


def _say_that_planes_are_read(export: Export) -> None:
    """State what SpecForge's own configs/kimi-k25-eagle3.json and qwen3-235B-A22B-eagle3.json state."""
    export.config["eagle_config"]["use_aux_hidden_state"] = True


def _keep_rotary_buffers(export: Export) -> None:
    """Store what a rotary embedding registers, as modules with persistent buffers do: every engine computes its own."""
    for name in ("inv_freq", "cos_cached", "sin_cached"):
        export.tensors[f"midlayer.self_attn.rotary_emb.{name}"] = torch.ones(8)


def _say_no_vocabulary(export: Export) -> None:
    """State null, which makes SGLang take the target head."""
    export.config["draft_vocab_size"] = None


def _weaken(export: Export) -> None:
    """Train for a few steps only: every matrix is small beside what it was drawn as."""
    for name, tensor in export.tensors.items():
        if tensor.is_floating_point() and tensor.ndim == 2 and "embed" not in name:
            export.tensors[name] = tensor * 0.25


_FULL: dict[str, Any] = {"draft_vocab_size": 256, "d2t": "none"}

EXPORTS: dict[str, GoodExport] = {
    "one norm over all planes": GoodExport({"fc": {"bias": False, "input_norm": "joint"}}, engines=VLLM),
    "a norm for each plane": GoodExport({"fc": {"bias": False, "input_norm": "per_plane"}}, engines=VLLM),
    "the residual after the norm": GoodExport({"residual": "post_norm"}, engines=VLLM),
    "every target token can be drafted": GoodExport(_FULL),
    "the head is the target's": GoodExport(_FULL | {"lm_head": "target"}, edit=_say_no_vocabulary),
    "the head is the embedding": GoodExport(_FULL | {"lm_head": "embedding"}),
    "rows of the target's head": GoodExport({"lm_head": "target_rows"}, engines=VLLM),
    "an embedding of its own": GoodExport({"embedding": "own"}, engines=VLLM),
    "no grouped heads": GoodExport({"attention": {"kind": "gqa", "heads": 4, "kv_heads": 4, "head_dim": 16}}),
    "two planes": GoodExport({"input": ["low", "high"]}),
    "float16": GoodExport({"dtype": "float16"}),
    "float32": GoodExport({"dtype": "float32"}),
    "rope in the old layout": GoodExport(edit=_keep("rope_theta", "rope_scaling"), engines=VLLM),
    "rope in the new layout": GoodExport(edit=_keep("rope_parameters"), engines=VLLM),
    "ids in one dialect alone": GoodExport(edit=_own_ids, engines=VLLM),
    "a key that ModelOpt writes too": GoodExport(edit=_say_that_planes_are_read),
    "rotary buffers beside the weights": GoodExport(edit=_keep_rotary_buffers),
    "a weak drafter": GoodExport(edit=_weaken),
    "more positions than are served": GoodExport({"max_position": 8192}),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_that_keeps_to_what_is_declared_is_good(name: str, contract: Contract, tmp_path: Path) -> None:
    good = EXPORTS[name]
    declared, export = prepare_export(contract, tmp_path, good.form, changes=good.changes, engines=good.engines)
    good.edit(export)
    assert_good(judge_subject(declared, Subject("checkpoint", str(export.write()), name)), *_HEADED)


def test_an_export_in_more_shards_than_tensors_of_a_layer_is_good(contract: Contract, tmp_path: Path) -> None:
    declared, export = prepare_export(contract, tmp_path, "specforge")
    found = judge_subject(declared, Subject("checkpoint", str(export.write_sharded(7)), "shards"))
    assert_good(found, *_HEADED)


def _drafting(steps: int, topk: int, tokens: int) -> Callable[[Launch], None]:
    def edit(launch: Launch) -> None:
        launch.write("--speculative-num-steps 3", f"--speculative-num-steps {steps}")
        launch.write("--speculative-eagle-topk 1", f"--speculative-eagle-topk {topk}")
        launch.write("--speculative-num-draft-tokens 4", f"--speculative-num-draft-tokens {tokens}")

    return edit


LAUNCHES: dict[str, Callable[[Launch], None]] = {
    "a longer chain": _drafting(7, 1, 8),
    "a tree": _drafting(3, 4, 16),
    "a tree with all its candidates": _drafting(1, 4, 5),
    "a shorter context": lambda launch: launch.write("2048", "1024"),
    "states of whole prompts": lambda launch: launch.add(
        "--enable-return-hidden-states --disable-radix-cache --chunked-prefill-size -1"
    ),
    "overrides that change nothing": lambda launch: launch.add(
        """--json-model-override-args '{"vocab_size": 256, "max_position_embeddings": 2048}'"""
    ),
    "flags of no concern": lambda launch: launch.add("--log-level warning --mem-fraction 0.8"),
}


@pytest.mark.parametrize("name", LAUNCHES)
def test_a_launch_that_keeps_to_what_is_declared_is_good(name: str, contract: Contract, tmp_path: Path) -> None:
    launch = Launch(contract, tmp_path / "launch")
    LAUNCHES[name](launch)
    found = judge_subject(launch.contract, Subject("launch", str(launch.script), name), target=False)
    assert_good(found, "launch.draft-tokens", "launch.taps", "launch.algorithm")


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_a_server_that_drafts_more_or_fewer_tokens_is_good(steps: int, contract: Contract) -> None:
    def serve_any(document: dict[str, Any]) -> None:
        document["serving"] |= {"min_draft_tokens": 2}

    stand_in = StandIn(engine=Engine(steps=steps))
    found = judge_server(change_contract(contract, serve_any), stand_in)
    assert_good(found, "server.boundary", "server.accepted-tokens", "server.draft-tokens")
