"""Defects of a drafter's files that speculators 0.9.0 is known to load, or to refuse: each is named by a clause.

Real: Eagle3DraftModel with the embedded target as its verifier, save_pretrained, from_pretrained. The table: defect,
what from_pretrained says of it, the clauses that fail. ``logs`` is a table of names at warning level, after which
loading goes on. Not here: EAGLE's own loader and the models of 0.3 and 0.4, which no environment of this project
runs (the one is in no package index, the others need transformers 4); engines, which are read.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from eagle3_contracts.contract import Contract
from support.defects import Defect, Tensors, defect, listen
from support.recordings import judge, move_planes, read_states, unrecorded, violated

pytestmark = pytest.mark.peer("speculators")

Peer = Callable[[str], ModuleType]
Config = dict[str, Any]
VLLM = {"vllm": ">=0.25,<=0.33.0"}
LAYER = "layers.0."


def without(*names: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {name: tensor for name, tensor in tensors.items() if name not in names}


def cast(name: str, dtype: torch.dtype) -> Callable[[Tensors], Tensors]:
    return lambda tensors: tensors | {name: tensors[name].to(dtype)}


def _renamed(tensors: Tensors) -> Tensors:
    return {name.replace(LAYER, "midlayer."): tensor for name, tensor in tensors.items()}


def _biased(tensors: Tensors) -> Tensors:
    return tensors | {"fc.bias": torch.ones(64, dtype=torch.bfloat16)}


def _normed(tensors: Tensors) -> Tensors:
    return tensors | {"input_norm.weight": torch.ones(192, dtype=torch.bfloat16)}


def _absolute(tensors: Tensors) -> Tensors:
    return tensors | {"d2t": tensors["d2t"] + torch.arange(len(tensors["d2t"]))}


def _narrow(tensors: Tensors) -> Tensors:
    return tensors | {"fc.weight": tensors["fc.weight"][:, :128].contiguous()}


TENSORS: dict[str, Defect] = {
    "no fc": defect(without("fc.weight"), "logs", "checkpoint.tensors-present"),
    "no hidden_norm": defect(without(f"{LAYER}hidden_norm.weight"), "logs", "checkpoint.tensors-present"),
    "midlayer names": defect(_renamed, "logs", "checkpoint.tensors-present"),
    "a bias that nothing adds": defect(_biased, "logs", "checkpoint.tensors-read"),
    "a norm whose flag is off": defect(_normed, "logs", "checkpoint.tensors-read"),
    "no d2t": defect(without("d2t"), "silent", "checkpoint.tensors-present"),
    "ids in d2t": defect(_absolute, "silent", "checkpoint.d2t-reading", "checkpoint.t2d-agrees"),
    "d2t in int32": defect(cast("d2t", torch.int32), "silent"),
    "t2d in int64": defect(cast("t2d", torch.int64), "silent"),
    "no t2d": defect(without("t2d"), "raises RuntimeError"),
    "fc for two planes": defect(_narrow, "raises RuntimeError", "checkpoint.shapes", "checkpoint.fc-width"),
    "no embedding": defect(without("embed_tokens.weight"), "silent"),
}


def _other_base(config: Config) -> None:
    config["transformer_layer_config"]["rope_parameters"]["rope_theta"] = 10000.0


def _other_ids(config: Config) -> None:
    config["eagle_aux_hidden_state_layer_ids"] = [1, 3, 4]


def _no_ids(config: Config) -> None:
    config["eagle_aux_hidden_state_layer_ids"] = None


CONFIGS: dict[str, Defect] = {
    "another rope base": defect(_other_base, "silent", "checkpoint.rope"),
    "ids of other boundaries": defect(_other_ids, "silent", "checkpoint.taps"),
    "no ids, as 0.3 and 0.4 wrote it": defect(_no_ids, "warns"),
}
"""No ids are the default's, which this contract's planes are; below, planes that are not."""


@pytest.fixture(scope="module")
def saved(
    make_drafter: Callable[..., Any], contract: Contract, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Tensors, Config]:
    """Give the tensors and the config of a drafter as it was saved."""
    folder = tmp_path_factory.mktemp("saved")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [torch.from_numpy(item.token_ids) for item in read_states()]
        model = make_drafter(contract, rows).to(torch.bfloat16)
        for name, parameter in model.named_parameters():
            if "norm" in name and "verifier" not in name:
                torch.nn.init.normal_(parameter.data, 1.0, 0.2)
        model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return load_file(folder / "model.safetensors"), config


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Tensors, Config], Path]:
    def write_files(tensors: Tensors, config: Config) -> Path:
        save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
        (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        return tmp_path

    return write_files


@pytest.fixture
def load(peer: Peer, tmp_path: Path) -> Callable[[], Any]:
    return lambda: peer("speculators.models.eagle3").Eagle3DraftModel.from_pretrained(tmp_path)


@pytest.fixture
def check(contract: Contract, tmp_path: Path, load: Callable[[], Any]) -> Callable[[Defect], None]:
    def check_defect(known: Defect) -> None:
        wired = unrecorded(contract, VLLM, lm_head="target_rows")
        found = violated(judge(wired, "checkpoint", tmp_path, "speculators"))
        assert listen(load) == known.said
        assert found >= known.clauses
        assert known.clauses or not found

    return check_defect


@pytest.mark.parametrize("name", TENSORS)
def test_what_the_tensors_have(
    name: str, saved: tuple[Tensors, Config], write: Callable[..., Path], check: Callable[[Defect], None]
) -> None:
    tensors, config = saved
    write(TENSORS[name].make(dict(tensors)), config)
    check(TENSORS[name])


@pytest.mark.parametrize("name", CONFIGS)
def test_what_the_config_has(
    name: str, saved: tuple[Tensors, Config], write: Callable[..., Path], check: Callable[[Defect], None]
) -> None:
    tensors, config = saved
    changed = json.loads(json.dumps(config))
    CONFIGS[name].make(changed)
    write(tensors, changed)
    check(CONFIGS[name])


def test_planes_one_too_far_without_ids_are_served_one_too_near(
    saved: tuple[Tensors, Config], write: Callable[..., Path], contract: Contract
) -> None:
    """What 0.4's defaults capture (boundaries 3, n/2 + 1, n - 2), and what vLLM makes of a config that names none."""
    tensors, config = saved
    folder = write(tensors, config | {"eagle_aux_hidden_state_layer_ids": None})
    trained = unrecorded(move_planes(contract, (3, 5, 6)), VLLM, lm_head="target_rows")
    assert violated(judge(trained, "checkpoint", folder, "speculators")) == {"checkpoint.taps"}


@pytest.mark.parametrize("memory", [0, 7])
def test_what_is_missing_is_whatever_lay_in_memory(
    memory: int,
    saved: tuple[Tensors, Config],
    write: Callable[..., Path],
    load: Callable[[], Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0.9 marks an embedding to be fetched by NaN, which transformers 5 never writes: it allocates, and is told to
    ignore that embed_tokens and d2t are missing. Here what is allocated holds a number that a test can find again."""
    tensors, config = saved
    write(without("fc.weight", "d2t", "embed_tokens.weight")(dict(tensors)), config)
    monkeypatch.setattr(torch, "empty_like", lambda like, **options: torch.full_like(like, memory, **options))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = load()
    assert (model.d2t == memory).all()
    assert (model.embed_tokens.weight == memory).all()
    assert not torch.equal(model.fc.weight, tensors["fc.weight"])
    assert model.fc.weight.std() > 0, "fc, whose absence it logs, is drawn anew"
