"""A contract of one's own is recorded too; of a large vocabulary the largest logits are kept, and judged alike."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load, load_file, save_file

from eagle3_contracts.contract import Contract, load_contract
from eagle3_contracts.contract.writing import write_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.faults.injecting.exports import draw_weights, export_drafter
from eagle3_contracts.findings import Finding, Verdict
from eagle3_contracts.numerics import log_softmax
from eagle3_contracts.recording import RecordingError, record
from eagle3_contracts.recording.sequences import GIVEN
from eagle3_contracts.registry import clauses_of
from eagle3_contracts.run import gather_evidence, judge_clause
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.goldens import DRAFTS, STATES, Golden, open_golden
from eagle3_contracts.subjects.goldens.kept import DENSE_VOCABULARY, KEPT
from eagle3_contracts.subjects.targets import open_target
from support.targets import kimi_toy, toy_tokens

VOCABULARY, LAYERS, LENGTHS = 40_000, 8, (40, 30, 1)


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the contract of a toy whose ids do not fit into 16 bits; it has the embedded default's wiring."""
    values = load_contract(CONTRACT).model_dump(mode="json", by_alias=True, exclude_none=True)
    values |= {"name": "large-toy", "version": "1.0.0", "summary": "A toy of a large vocabulary."}
    values["target"] |= {"vocab_size": VOCABULARY, "num_hidden_layers": LAYERS}
    del values["target"]["weights_sha256"]
    for plane in values["planes"]:
        plane.pop("norm", None)
    path = tmp_path_factory.mktemp("contract") / "large-toy.toml"
    path.write_text(_as_toml(values), encoding="utf-8")
    return path


def _as_toml(values: dict[str, object]) -> str:
    return write_contract(Contract.model_validate_json(json.dumps(values)))


@pytest.fixture(scope="module")
def root(document: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record target and drafter of the toy; give the folder of all recordings."""
    contract, root = load_contract(str(document)), tmp_path_factory.mktemp("golden")
    folder = root / contract.name / contract.version
    kimi_toy(folder / "target", layers=LAYERS, vocab=VOCABULARY)
    export_drafter(contract, draw_weights(contract, keep=(39_999,)), folder / "drafter", "specforge").write()
    texts = [toy_tokens(length, vocab=VOCABULARY, seed=length) for length in LENGTHS]
    (folder / GIVEN).write_text(json.dumps(texts), encoding="utf-8")
    record(str(document), root, {})
    return root


@pytest.fixture
def golden(root: Path) -> Golden:
    return open_golden("large-toy", "1.0.0", root)


def judge(contract: Contract, folder: Path) -> list[Finding]:
    evidence = gather_evidence(contract, Subject("golden", str(folder), "large"), Options())
    return [item for clause in clauses_of("golden") for item in judge_clause(clause, contract, evidence)]


def test_a_vocabulary_beyond_the_limit_is_kept_as_the_largest_logits(golden: Golden) -> None:
    assert VOCABULARY > DENSE_VOCABULARY
    assert load_file(golden.folder / DRAFTS)["0.drafted"].dtype is torch.int32
    assert golden.manifest["vocab_size"] == VOCABULARY
    kept = golden.logits(0)
    assert kept.form == "top-k"
    assert kept.ids.shape == (LENGTHS[0], KEPT)
    size = (golden.folder / STATES).stat().st_size
    assert size < 0.2 * sum(LENGTHS) * VOCABULARY * 2, "a fifth of what all logits take in bfloat16"


def test_kept_log_probabilities_are_the_targets(golden: Golden, document: Path) -> None:
    target = open_target(str(golden.target), load_contract(str(document)), route="torch")
    for number in range(len(golden)):
        kept, own = golden.logits(number), log_softmax(target.reference(golden.token_ids(number)).logits)
        best = np.take_along_axis(own, own.argsort(axis=-1)[:, ::-1][:, :KEPT], -1)
        np.testing.assert_allclose(kept.logprobs, np.take_along_axis(own, kept.ids, -1), atol=1e-4)
        np.testing.assert_allclose(kept.logprobs, best, atol=1e-4)


def test_states_give_the_same_log_probabilities_with_the_rest_spread(golden: Golden) -> None:
    states, kept = golden.states(0), golden.logits(0)
    assert states.logits.shape == (LENGTHS[0], VOCABULARY)
    spread = log_softmax(states.logits)
    np.testing.assert_allclose(np.take_along_axis(spread, kept.ids, -1), kept.logprobs, atol=1e-5)
    np.testing.assert_allclose(np.exp(states.logits.astype(np.float64)).sum(axis=-1), 1, atol=1e-4)


def test_the_recording_conforms_and_says_what_it_was_made_for(golden: Golden, document: Path) -> None:
    contract = load_contract(str(document))
    findings = judge(contract, golden.folder)
    assert {item.clause for item in findings if item.verdict is Verdict.PASSED} == {
        clause.id for clause in clauses_of("golden")
    }
    assert {item.verdict for item in findings} == {Verdict.PASSED}
    assert golden.manifest["contract_digest"] == contract.digest
    assert any("top-k" in item.observed for item in findings if item.clause == "golden.logits")


@pytest.mark.parametrize("part", ["top_ids", "top_logits", "log_sum_exp"])
def test_kept_logits_of_other_rows_are_caught(part: str, root: Path, document: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(root / "large-toy" / "1.0.0", tmp_path / "recording"))
    tensors = load((folder / STATES).read_bytes())
    tensors[f"0.{part}"] = tensors[f"0.{part}"].roll(1, 0).contiguous()
    save_file(tensors, folder / STATES)
    failed = {item.clause for item in judge(load_contract(str(document)), folder) if item.verdict is Verdict.FAILED}
    assert failed == {"golden.integrity", "golden.logits"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is no JSON"),
        ("[]", "is no list"),
        ("[[1], []]", "is no list"),
        ("[[40000]]", "is no list"),
        ("[1]", "no list"),
    ],
)
def test_sequences_that_are_none_are_refused(
    text: str, reason: str, root: Path, document: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(root, tmp_path / "golden")) / "large-toy" / "1.0.0"
    before = (folder / STATES).read_bytes()
    (folder / GIVEN).write_text(text, encoding="utf-8")
    with pytest.raises(SubjectError, match=reason):
        record(str(document), tmp_path / "golden", {})
    assert (folder / STATES).read_bytes() == before


def test_a_target_with_one_route_alone_is_refused(root: Path, document: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(root, tmp_path / "golden")) / "large-toy" / "1.0.0"
    weights = load((folder / "target" / "model.safetensors").read_bytes())
    del weights["model.layers.3.mlp.up_proj.weight"]
    save_file(weights, folder / "target" / "model.safetensors")
    with pytest.raises(RecordingError, match="no two independent routes"):
        record(str(document), tmp_path / "golden", {})
