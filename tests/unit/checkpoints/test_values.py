"""Values that no training left behind, rows that are not the target's, and weights that a quantiser rewrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from eagle3_contracts.embedded import embedded_target
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.faults.injecting.exports import Export
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.subjects.targets.tensors import find_files

Read = Callable[..., CheckpointEvidence]
Judge = Callable[..., dict[str, list[Finding]]]

STARTS: dict[str, Callable[[Tensor], Tensor]] = {
    "normal with deviation 0.02": lambda like: nn.init.normal_(like, std=0.02),
    "normal, cut at two deviations, with deviation 0.0176": lambda like: nn.init.trunc_normal_(
        like, std=0.02, a=-0.04, b=0.04
    ),
    "torch's own start of a linear layer": lambda like: nn.init.kaiming_uniform_(like, a=5**0.5),
    "uniform with deviation 0.0884, Xavier's start": nn.init.xavier_uniform_,
    "uniform with deviation 0.102, Kaiming's start": nn.init.kaiming_uniform_,
    "0 everywhere": nn.init.zeros_,
    "1 everywhere": nn.init.ones_,
}


@pytest.mark.parametrize("told", STARTS)
def test_an_untrained_matrix_is_told_from_a_trained_one(told: str, export: Export, read: Read, judge: Judge) -> None:
    torch.manual_seed(1)
    export.tensors["fc.weight"] = STARTS[told](torch.empty(64, 192)).bfloat16()
    (found,) = judge(export.contract, read(export.contract, export.write()))["fresh-tensors"]
    assert found.verdict is Verdict.FAILED
    assert found.where.tensor == "fc.weight"
    assert told in found.observed


@pytest.mark.parametrize("spread", [0, 0.0, -1.0, 1e308, "0.02", None])
def test_a_strange_initializer_range_is_no_crash(spread: Any, export: Export, read: Read, judge: Judge) -> None:
    export.config["initializer_range"] = spread
    (found,) = judge(export.contract, read(export.contract, export.write()))["fresh-tensors"]
    assert found.verdict is Verdict.PASSED


def test_weights_that_overflow_are_not_said_to_be_infinite(export: Export, read: Read, judge: Judge) -> None:
    export.tensors["fc.weight"] *= 1e30
    found = judge(export.contract, read(export.contract, export.write()))
    assert {item.verdict for item in found["finite"]} == {Verdict.PASSED}
    (told,) = found["dead-tensors"]
    assert told.verdict is Verdict.ERRORED
    assert "though all weights are: fc.weight reaches" in told.observed


def test_a_few_rows_of_another_embedding_are_found(export: Export, read: Read, judge: Judge) -> None:
    """As where a tokenizer grew after the drafter was exported: most rows are the target's, some are not."""
    files = find_files(embedded_target())
    rows = torch.from_numpy(files.read(next(name for name in files.tensors if "embed_tokens" in name))).bfloat16()
    export.tensors["embed_tokens.weight"] = rows
    before = judge(export.contract, read(export.contract, export.write()))["embedding"]
    assert Verdict.FAILED not in {item.verdict for item in before}
    rows[40:44] = torch.randn(4, 64).bfloat16()
    found = judge(export.contract, read(export.contract, export.write()))["embedding"]
    (told,) = [item for item in found if item.verdict is Verdict.FAILED]
    assert "4 of 256 rows" in told.observed


@pytest.mark.parametrize(
    ("key", "table", "method"),
    [
        ("quantization_config", {"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8"),
        ("compression_config", {"format": "pack-quantized"}, "pack-quantized"),
        ("quantization_config", {"bits": 4}, "method not named"),
    ],
)
def test_a_config_that_says_that_weights_are_quantised_fails(
    key: str, table: Any, method: str, export: Export, read: Read, judge: Judge
) -> None:
    export.config[key] = table
    (told,) = judge(export.contract, read(export.contract, export.write(), scan="headers"))["dtypes"]
    assert told.verdict is Verdict.FAILED
    assert (told.where.file, told.where.flag) == ("config.json", key)
    assert f"quantised ({method})" in told.observed


@pytest.mark.parametrize("table", [{}, None])
def test_an_empty_table_of_quantisation_says_nothing(table: Any, export: Export, read: Read, judge: Judge) -> None:
    export.config["quantization_config"] = table
    (told,) = judge(export.contract, read(export.contract, export.write(), scan="headers"))["dtypes"]
    assert told.verdict is Verdict.PASSED


def test_the_file_that_modelopt_leaves_beside_the_config_is_read(export: Export, read: Read, judge: Judge) -> None:
    folder = export.write()
    (folder / "hf_quant_config.json").write_text(
        json.dumps({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4"}}), encoding="utf-8"
    )
    (told,) = judge(export.contract, read(export.contract, folder, scan="headers"))["dtypes"]
    assert told.verdict is Verdict.FAILED
    assert told.where.file == "hf_quant_config.json"
    assert "NVFP4" in told.observed


def test_tensors_of_a_quantiser_are_one_finding(export: Export, read: Read, judge: Judge) -> None:
    for name, tensor in list(export.tensors.items()):
        if tensor.is_floating_point() and tensor.ndim == 2:
            export.tensors[name] = tensor.to(torch.float8_e4m3fn)
            export.tensors[f"{name}_scale"] = torch.tensor(1.0)
    found = judge(export.contract, read(export.contract, export.write()))
    (unread,) = found["tensors-read"]
    assert "tensors of quantised weights" in unread.observed
    (stored,) = found["dtypes"]
    assert "float8_e4m3fn" in stored.observed
    assert {item.verdict for item in found["fresh-tensors"]} == {Verdict.PASSED}
