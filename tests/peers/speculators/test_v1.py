"""speculators 0.3.0 and 0.4.0: the worker that captures, the files it leads to, the loader that reads them.

Real: the capturing forward patched into the target, the declaration ``data_config.json``, the loader. Stand-ins: vLLM
around them (one process, no tensor parallelism) and its layers, which return the target's own states as vLLM's do, a
branch and a residual. The files themselves are written from reading scripts/data_generation_offline.py, which is in
no wheel.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Verdict

pytestmark = pytest.mark.peer("speculators")

FORMAT = "speculators-v1"
VERSIONS = ("0.3.0", "0.4.0")
GROUP = SimpleNamespace(is_first_rank=True, is_last_rank=True, rank_in_group=0)
VLLM = {
    "vllm.distributed": {"get_pp_group": lambda: GROUP, "get_tp_group": lambda: GROUP},
    "vllm.sequence": {"IntermediateTensors": dict},
    "vllm.model_executor.models.interfaces": {"supports_eagle3": lambda _model: True},
}


class Served:
    """A decoder with vLLM's interface whose layers give the states of one sample."""

    def __init__(self, sample: Any) -> None:
        self.sample = sample
        self.start_layer, self.end_layer = 0, len(sample.boundaries) - 1
        self.layers = [self._layer(index) for index in range(self.end_layer)]

    def embed_input_ids(self, _tokens: Tensor) -> Tensor:
        return self.sample.boundaries[0]

    get_input_embeddings = embed_input_ids

    def norm(self, _hidden: Tensor, _residual: Tensor) -> tuple[Tensor, None]:
        return self.sample.final, None

    def _layer(self, index: int) -> Callable[..., tuple[Tensor, Tensor]]:
        before, after = self.sample.boundaries[index], self.sample.boundaries[index + 1]
        return lambda **_given: (after - before, before)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def write_dataset(
    version: str,
    unpack_wheel: Callable[[str, str], Path],
    import_from: Callable[..., ModuleType],
    samples: list[Any],
    tmp_path: Path,
) -> Callable[[list[int]], Path]:
    """Capture every sample with the real worker at some layer ids and write the files of a run."""
    root = unpack_wheel("speculators", version)
    worker = import_from(root, "speculators.data_generation.custom_worker", VLLM)
    generator = import_from(root, "speculators.data_generation.config_generator")

    def write(layer_ids: list[int]) -> Path:
        folder = tmp_path / "dataset"
        folder.mkdir()
        for index, sample in enumerate(samples):
            planes = [plane.to(torch.bfloat16) for plane in _capture(worker, sample, layer_ids)]
            record = {"input_ids": sample.token_ids, "hidden_states": planes, "loss_mask": sample.loss_mask}
            torch.save(record, folder / f"data_{index}.pt")
        lengths = {str(index): len(sample.token_ids) for index, sample in enumerate(samples)}
        if version != "0.3.0":
            (folder / "sample_lengths.json").write_text(json.dumps(lengths), encoding="utf-8")
        config = _declare(generator, layer_ids, len(samples), samples[0].final.shape[-1])
        (folder / "data_config.json").write_text(json.dumps(config.to_dict()), encoding="utf-8")
        return folder

    return write


def test_the_default_ids_capture_one_boundary_too_far(
    write_dataset: Callable[[list[int]], Path], contract: Contract, judge: Callable[..., Any]
) -> None:
    """The default [2, n//2, n-3, n-1] stores 3, n//2+1, n-2; what it exports is served with 2, n//2, n-3."""
    layers = contract.target.num_hidden_layers
    folder = write_dataset([2, layers // 2, layers - 3, layers - 1])
    (boundary,) = [finding for finding in judge(folder, FORMAT) if finding.clause == "dataset.boundary"]
    assert boundary.verdict is Verdict.FAILED
    assert f"{3}, {layers // 2 + 1}, {layers - 2}, {layers} pre-norm" in boundary.observed


def test_one_id_less_captures_what_the_contract_says(
    write_dataset: Callable[[list[int]], Path], contract: Contract, accept: Callable[..., None]
) -> None:
    ids = [plane.boundary - 1 for plane in contract.stored_planes(FORMAT)]
    accept(write_dataset(ids), FORMAT)


def test_the_real_loader_reads_the_same_planes(
    version: str,
    write_dataset: Callable[[list[int]], Path],
    contract: Contract,
    samples: list[Any],
    unpack_wheel: Callable[[str, str], Path],
    import_from: Callable[..., ModuleType],
) -> None:
    planes = contract.stored_planes(FORMAT)
    folder = write_dataset([plane.boundary - 1 for plane in planes])
    data = import_from(unpack_wheel("speculators", version), "speculators.train.data")
    files = [str(folder / f"data_{index}.pt") for index in range(len(samples))]
    item = data.Eagle3SampleFileDataset(max_len=256, file_list=files)[0]
    stored = [plane.to(torch.bfloat16).float() for plane in samples[0].planes(contract, FORMAT)]
    assert torch.equal(item["input_ids"], samples[0].token_ids[1:])
    assert torch.allclose(item["hidden_states"], torch.cat(stored[:-1], -1)[:-1], rtol=0.01)
    assert torch.allclose(item["verifier_last_hidden_states"], stored[-1][1:], rtol=0.01)


def _capture(worker: ModuleType, sample: Any, layer_ids: list[int]) -> list[Tensor]:
    """Run the worker's own patched forward on one request and take what it stored."""
    extension = worker.HiddenStatesWorkerExtension()
    base = Served(sample)
    batch = SimpleNamespace(req_id_to_index={"request": 0})
    extension.model_runner = SimpleNamespace(model=SimpleNamespace(model=base), input_batch=batch)
    extension._setup_hidden_states_capture(layer_ids)
    extension._reset_capture()
    tokens = len(sample.token_ids)
    if hasattr(extension, "_set_request_metadata"):
        extension._set_request_metadata({"request": tokens})
    base.forward(sample.token_ids, torch.arange(tokens))
    captured = extension._get_captured_states()
    return captured["request"] if isinstance(captured, dict) else captured


def _declare(generator: ModuleType, layer_ids: list[int], samples: int, hidden: int) -> Any:
    """Fill the real declaration; only its ``from_generator`` asks for vLLM."""
    versions = generator.PackageVersions(torch="2.13.0", vllm="0.11.0", transformers="4.57.6", speculators="0.4.0")
    return generator.DataGenerationConfig(
        version=generator.DataGenerationConfig.VERSION,
        generated_at="2026-01-01T00:00:00+00:00",
        speculators_version=versions.speculators,
        reproducibility=generator.ReproducibilityInfo("data_generation_offline.py", versions, gpu="none"),
        model=generator.ModelConfig("tiny", 1, 0.8, hidden),
        data=generator.DataConfig("rows.jsonl", 256, None, samples, 0),
        hidden_states=generator.HiddenStatesConfig(layer_ids),
        generation=generator.GenerationConfig("cache"),
        format=generator.FormatConfig.create_default(len(layer_ids), hidden),
    )
