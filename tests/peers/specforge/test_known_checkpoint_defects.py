"""Defects of a drafter's tensors that SpecForge 0.2.0's exporters refuse, or let through: each is named by a clause.

Real: the draft model, export_to_sglang, export_to_hf, AutoDraftModel. Stand-in: ``specforge.core.loss``, a Triton
kernel that is imported and not called. The table: defect, what the exporter says of it (``silent``: no more than of a
good drafter), the clauses that fail for a folder that has it - one that was written without the exporter. Not here:
SpecForge 0.1.0, which ignored rope_theta (its only release on the index cannot be built), and engines, which are read.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from eagle3_contracts.contract import Contract
from eagle3_contracts.contract.stamp import STAMP_KEY
from eagle3_contracts.embedded import NAME, VERSION, embedded_target
from eagle3_contracts.subjects.goldens import open_golden
from support.defects import Defect, Tensors, defect, listen
from support.recordings import judge, unrecorded, violated

pytestmark = pytest.mark.peer("specforge")

Peer = Callable[[str], ModuleType]
SGLANG = {"sglang": ">=0.5.12,<0.5.24"}
LAYER = "midlayer."


def without(*names: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: {name: tensor for name, tensor in tensors.items() if name not in names}


def cast(name: str, dtype: torch.dtype) -> Callable[[Tensors], Tensors]:
    return lambda tensors: tensors | {name: tensors[name].to(dtype)}


def _renamed(tensors: Tensors) -> Tensors:
    return {name.replace(LAYER, "layers.0."): tensor for name, tensor in tensors.items()}


def _biased(tensors: Tensors) -> Tensors:
    return tensors | {"fc.bias": torch.ones(64, dtype=torch.bfloat16)}


def _normed(tensors: Tensors) -> Tensors:
    return tensors | {"input_norm.weight": torch.ones(192, dtype=torch.bfloat16)}


def _absolute(tensors: Tensors) -> Tensors:
    return tensors | {"d2t": tensors["d2t"] + torch.arange(len(tensors["d2t"]))}


def _narrow(tensors: Tensors) -> Tensors:
    return tensors | {"fc.weight": tensors["fc.weight"][:, :128].contiguous()}


TENSORS: dict[str, Defect] = {
    "no fc": defect(
        without("fc.weight"), "raises ValueError", "checkpoint.tensors-present", "checkpoint.engine-tensors"
    ),
    "no hidden_norm": defect(
        without(f"{LAYER}hidden_norm.weight"),
        "raises ValueError",
        "checkpoint.tensors-present",
        "checkpoint.engine-tensors",
    ),
    "names of layers.0": defect(_renamed, "raises ValueError"),
    "a bias that nothing adds": defect(
        _biased, "raises ValueError", "checkpoint.tensors-read", "checkpoint.engine-tensors"
    ),
    "a norm whose flag is off": defect(
        _normed, "raises ValueError", "checkpoint.tensors-read", "checkpoint.engine-tensors"
    ),
    "no d2t": defect(without("d2t"), "raises ValueError", "checkpoint.tensors-present", "checkpoint.engine-tensors"),
    "no t2d": defect(without("t2d"), "raises ValueError"),
    "ids in d2t": defect(_absolute, "silent", "checkpoint.d2t-reading", "checkpoint.t2d-agrees"),
    "d2t in int32": defect(cast("d2t", torch.int32), "silent"),
    "t2d in int64": defect(cast("t2d", torch.int64), "silent"),
    "fc for two planes": defect(_narrow, "raises RuntimeError", "checkpoint.shapes", "checkpoint.fc-width"),
}
"""Names of layers.0 are native to SGLang; t2d is read by no engine: neither is a defect of the folder."""


@pytest.fixture(scope="module", autouse=True)
def _kernel(peer: Peer) -> Any:
    stand_in = ModuleType("specforge.core.loss")
    stand_in.__dict__["LogSoftmaxLoss"] = type("LogSoftmaxLoss", (), {})
    peer("specforge.core")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "specforge.core.loss", sys.modules.get("specforge.core.loss", stand_in))
        peer("specforge.modeling.auto")
        yield


@pytest.fixture(scope="module")
def trained() -> tuple[Tensors, dict[str, Any]]:
    """Give the tensors and the config of the embedded drafter, which has SpecForge's form."""
    folder = open_golden(NAME, VERSION).drafter
    assert folder is not None
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    del config[STAMP_KEY]  # it would be another contract's
    return load_file(folder / "model.safetensors"), config | {"pad_token_id": 0}


@pytest.fixture
def export(peer: Peer, trained: tuple[Tensors, dict[str, Any]], tmp_path: Path) -> Callable[..., Path]:
    """Export a training state with a real exporter, ``sglang`` or ``hf``."""

    def run(tensors: Tensors, kind: str = "sglang", config: dict[str, Any] | None = None, **more: Any) -> Path:
        draft, state = tmp_path / "draft.json", tmp_path / "training_state.pt"
        draft.write_text(json.dumps(config or trained[1]), encoding="utf-8")
        torch.save({"strategy": "eagle3", "draft_state_dict": tensors}, state)
        exporter = getattr(peer(f"specforge.export.to_{kind}"), f"export_to_{kind}")
        return Path(exporter(str(state), str(draft), str(tmp_path / "out"), **more))

    return run


@pytest.fixture
def write(trained: tuple[Tensors, dict[str, Any]], tmp_path: Path) -> Callable[[Tensors], Path]:
    """Write a folder without the exporter."""

    def write_files(tensors: Tensors) -> Path:
        folder = tmp_path / "by-hand"
        folder.mkdir()
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        (folder / "config.json").write_text(json.dumps(trained[1]), encoding="utf-8")
        return folder

    return write_files


@pytest.mark.parametrize("name", TENSORS)
def test_what_the_tensors_have(
    name: str,
    trained: tuple[Tensors, dict[str, Any]],
    export: Callable[..., Path],
    write: Callable[[Tensors], Path],
    contract: Contract,
) -> None:
    known = TENSORS[name]
    changed = known.make(dict(trained[0]))
    usual = listen(lambda: export(dict(trained[0])))
    assert not usual.startswith("raises")
    said = listen(lambda: export(changed))
    assert ("silent" if said == usual else said) == known.said
    found = violated(judge(unrecorded(contract, SGLANG), "checkpoint", write(changed), "specforge"))
    assert found >= known.clauses
    assert known.clauses or not found


def test_what_is_let_through_lies_in_the_export(
    trained: tuple[Tensors, dict[str, Any]], export: Callable[..., Path], contract: Contract
) -> None:
    """Ids in d2t pass its checks, and integers of other widths come out as int64 and bool."""
    changed = cast("t2d", torch.int64)(cast("d2t", torch.int32)(_absolute(dict(trained[0]))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = export(changed)
    written = load_file(folder / "model.safetensors")
    assert (written["d2t"].dtype, written["t2d"].dtype) == (torch.int64, torch.bool)
    found = violated(judge(unrecorded(contract, SGLANG), "checkpoint", folder, "specforge"))
    assert found >= {"checkpoint.d2t-reading", "checkpoint.t2d-agrees"}


def test_the_hf_export_demands_an_embedding(
    trained: tuple[Tensors, dict[str, Any]], export: Callable[..., Path], contract: Contract, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="embedding_source"):
        export(trained[0], "hf")
    index = {"weight_map": {"model.embed_tokens.weight": "model.safetensors"}}
    target = tmp_path / "target"
    target.mkdir()
    (target / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (weights,) = embedded_target().glob("*.safetensors")
    (target / "model.safetensors").symlink_to(weights)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = export(trained[0], "hf", embedding_source=str(target))
    findings = judge(unrecorded(contract, SGLANG), "checkpoint", folder, "specforge")
    assert violated(findings) == set()
    (compared, *_) = (item.observed for item in findings if item.clause == "checkpoint.embedding")
    assert compared.startswith("the target's rows")


def test_other_names_load_in_silence_where_nobody_is_strict(
    trained: tuple[Tensors, dict[str, Any]], peer: Peer, tmp_path: Path
) -> None:
    """Every tensor of the layer is missing, and as many are unexpected; materialize_draft is what refuses them."""
    auto, draft = peer("specforge.modeling.auto"), tmp_path / "draft.json"
    draft.write_text(json.dumps(trained[1]), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = auto.AutoDraftModel.from_config(auto.AutoDraftModelConfig.from_file(str(draft)))
        missing, unexpected = model.load_state_dict(_renamed(dict(trained[0])), strict=False)
    assert len(unexpected) == len([name for name in trained[0] if name.startswith(LAYER)]) == 10
    assert set(missing) == {name for name in trained[0] if name.startswith(LAYER)} | {"embed_tokens.weight"}
