"""SpecForge 0.2.0: its layout and feature store write the files, its loaders read what our reader calls good.

Real: the layer ids it resolves, the capture object, the record's layout, the store that writes ``.ckpt``, the manifest
reader, the dataset, the collator. Stand-in: the SGLang server's side of the capture, which gives the target's own
states. From reading scripts/prepare_hidden_states.py, which is in no wheel: folder and file names, the gzip form, and
that samples with NaN are not written.
"""

from __future__ import annotations

import gzip
import importlib
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from eagle3_contracts.contract import Contract
from eagle3_contracts.findings import Verdict

pytestmark = pytest.mark.peer("specforge")

FORMAT = "specforge"
GROUP = "rows_0-2000"


class Server:
    """Stands in for SpecForge's SGLang backend: one request, the planes side by side, the state after the norm."""

    def __init__(self, sample: Any, contract: Contract) -> None:
        self.sample, self.contract = sample, contract
        self.layers: list[int] = []

    def set_capture_layers(self, layer_ids: list[int], *, capture_method: str) -> None:
        assert capture_method == "eagle3"
        self.layers = layer_ids

    def capture(self, *, input_ids: Tensor, attention_mask: Tensor, loss_mask: Tensor) -> tuple[Any, ...]:
        """Give what SGLang's Llama gives for an id k: the output of layer k, boundary k + 1."""
        aux = torch.cat([self.sample.boundaries[layer + 1] for layer in self.layers], dim=-1)
        row = (input_ids, attention_mask, loss_mask)
        return [row], [aux.to(torch.bfloat16)], [self.sample.final.to(torch.bfloat16)]


@pytest.fixture(scope="module")
def layer_ids(contract: Contract) -> list[int]:
    """Ask SpecForge itself which ids it captures by default."""
    resolve = importlib.import_module("specforge.algorithms.model_providers").resolve_eagle_capture_layers
    config = SimpleNamespace(model=SimpleNamespace(aux_hidden_state_layer_ids=None))
    return list(resolve(config, {}, SimpleNamespace(num_hidden_layers=contract.target.num_hidden_layers)))


@pytest.fixture
def dataset(tmp_path: Path, samples: list[Any], contract: Contract, layer_ids: list[int]) -> Path:
    capture = importlib.import_module("specforge.offline_capture.sglang").OfflineSGLangCapture
    providers = importlib.import_module("specforge.algorithms.eagle3.providers").algorithm_providers()
    (offline,) = providers.offline
    store_type = importlib.import_module("specforge.runtime.data_plane.feature_store").LocalFeatureStore
    store = store_type(dump_dir=str(tmp_path / GROUP))
    for index, sample in enumerate(samples):
        target = capture(Server(sample, contract))
        target.set_capture_layers(layer_ids)
        ids, mask = sample.token_ids[None], sample.loss_mask[None]
        captured = target.capture(input_ids=ids, attention_mask=torch.ones_like(ids), loss_mask=mask)
        record = offline.capture_layout.materialize(
            {
                "input_ids": captured.input_ids[0].clone(),
                "loss_mask": captured.loss_mask[0].clone(),
                "aux_hidden_states": captured.hidden_states[:1],
                "last_hidden_states": captured.last_hidden_states[:1],
            }
        )
        store.put(record, sample_id=f"data_{index}", metadata={})
    return tmp_path


@pytest.fixture
def compressed(dataset: Path) -> Path:
    for path in sorted(dataset.rglob("*.ckpt")):
        with gzip.open(f"{path}.gz", "wb", compresslevel=6) as packed:
            packed.write(path.read_bytes())
        path.unlink()
    return dataset


@pytest.mark.parametrize("form", ["dataset", "compressed"])
def test_the_real_files_pass_every_clause(
    form: str, request: pytest.FixtureRequest, accept: Callable[..., None]
) -> None:
    accept(request.getfixturevalue(form), FORMAT)


@pytest.mark.parametrize("form", ["dataset", "compressed"])
def test_the_real_dataset_reads_the_planes_that_the_contract_says(
    form: str, request: pytest.FixtureRequest, samples: list[Any], contract: Contract
) -> None:
    folder = request.getfixturevalue(form)
    preprocessing = importlib.import_module("specforge.data.preprocessing")
    files = preprocessing.list_local_files(str(folder))
    for path, item in zip(files, preprocessing.OfflineEagle3Dataset(files, max_len=256), strict=True):
        sample = samples[int(Path(path).name.removeprefix("data_").partition(".")[0])]
        *aux, last = (plane.to(torch.bfloat16) for plane in sample.planes(contract, FORMAT))
        assert torch.equal(item["hidden_state"][0], torch.cat(aux, -1))
        assert torch.equal(item["target"][0], last)
        assert torch.equal(item["input_ids"][0], sample.token_ids)


def test_the_new_data_plane_loads_what_our_reader_calls_good(dataset: Path, samples: list[Any]) -> None:
    reader = importlib.import_module("specforge.runtime.data_plane.offline_reader")
    store = importlib.import_module("specforge.runtime.data_plane.feature_store").LocalFeatureStore()
    loader = importlib.import_module("specforge.runtime.data_plane.feature_dataloader").FeatureDataLoader
    data = importlib.import_module("specforge.algorithms.eagle3.data")
    refs = reader.OfflineManifestReader(str(dataset), validate_files=True).read()
    batches = loader(
        store,
        refs=refs,
        batch_size=1,
        per_sample_transform=data.build_offline_normalizer(256),
        collate_fn=data.build_offline_collator(),
    )
    tokens = sum(int(batch.tensors["attention_mask"].sum()) for batch in batches)
    assert len(refs) == len(samples)
    assert tokens == sum(len(sample.token_ids) for sample in samples)


def test_a_corrupt_file_that_the_real_dataset_replaces_by_another_fails(
    dataset: Path, judge: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    preprocessing = importlib.import_module("specforge.data.preprocessing")
    files = preprocessing.list_local_files(str(dataset))
    path = Path(files[2])
    path.write_bytes(path.read_bytes()[:-400])
    loaded = preprocessing.OfflineEagle3Dataset(files, max_len=256)
    assert torch.equal(loaded[2]["input_ids"], loaded[0]["input_ids"])
    assert "ERROR" in capsys.readouterr().out
    assert _failed(judge(dataset, FORMAT)) >= {"dataset.readable"}


def test_nan_that_the_real_dataset_takes_in_silence_fails(dataset: Path, judge: Callable[..., Any]) -> None:
    path = sorted(dataset.rglob("*.ckpt"))[1]
    record = torch.load(path, weights_only=True)
    record["aux_hidden_state"][0, 4, 7] = torch.nan
    torch.save(record, path)
    preprocessing = importlib.import_module("specforge.data.preprocessing")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        item = preprocessing.OfflineEagle3Dataset([str(path)], max_len=256)[0]
    assert item["hidden_state"].isnan().any()
    assert _failed(judge(dataset, FORMAT)) >= {"dataset.finite"}


def test_the_vocabulary_map_beside_the_rows_is_no_sample(dataset: Path, accept: Callable[..., None]) -> None:
    """The script puts ``vocab_mapping/vocab_mapping.pt`` into the same folder."""
    mapping = dataset / "vocab_mapping"
    mapping.mkdir()
    torch.save(
        {"d2t": torch.zeros(8, dtype=torch.long), "t2d": torch.ones(8, dtype=torch.bool)}, mapping / "vocab_mapping.pt"
    )
    accept(dataset, FORMAT)


def test_one_folder_of_rows_passes_by_itself(dataset: Path, tmp_path: Path, accept: Callable[..., None]) -> None:
    alone = shutil.copytree(dataset / GROUP, tmp_path / "alone")
    accept(alone, FORMAT)


def _failed(findings: list[Any]) -> set[str]:
    return {finding.clause for finding in findings if finding.verdict is Verdict.FAILED}
