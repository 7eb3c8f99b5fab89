"""What the clause on a dataset's own words must say: norm flag, layer ids, stamp."""

from __future__ import annotations

import dataclasses
from typing import Any

from eagle3_contracts.contract.stamp import stamp_of_dataset, stamp_tokens
from eagle3_contracts.evidence import DatasetEvidence, Tally
from support.judging.cases import Case, dataset_case
from support.judging.dataset_evidence import HEADERS, UNREAD, every_file, odd_file
from support.judging.documents import toy_contract
from support.judging.evidence import seen, sound_dataset


def declaring(**declared: Any) -> DatasetEvidence:
    """Give a dataset whose files say something of themselves."""
    return sound_dataset(declared=declared)


def configured(ids: list[int], version: Any = "0.4.0") -> DatasetEvidence:
    """Give a dataset beside which speculators wrote its data_config.json."""
    config = {"speculators_version": version, "hidden_states": {"layer_ids": ids}}
    return sound_dataset(format="speculators-v1", declared={"data_config": config})


_CONTRACT = {"contract": "toy-eagle3@1.0.0"}
_STAMP = stamp_of_dataset(toy_contract(), "speculators-arrow")


def stamped(evidence: DatasetEvidence, **changes: Any) -> DatasetEvidence:
    """Give a dataset with a whole stamp, some keys of it changed."""
    return dataclasses.replace(evidence, declared={"stamp": _STAMP | changes})


def digests(*numbers: int, **others: Tally) -> dict[str, Tally]:
    """Give the digests of samples by number, and of others."""
    return {str(number): seen(f"hs_{number}.safetensors") for number in numbers} | others


def texts(evidence: DatasetEvidence, *leave: str, **changes: Any) -> DatasetEvidence:
    """Give a dataset stamped with the token ids of 64 sound samples, some keys of that left out or changed."""
    tokens = stamp_tokens({str(number): 1 for number in range(64)})
    kept = {key: value for key, value in tokens.items() if key not in leave}
    return dataclasses.replace(evidence, declared={"stamp": _CONTRACT | {"tokens": kept | changes}})


_REPLACED = sound_dataset(token_digests=digests(*range(62), y=seen("b.safetensors", "a.safetensors"), x=seen("c")))
_LOST = sound_dataset(samples=63, token_digests=digests(*range(63)))
_PART = sound_dataset(files_read=10, samples=10, token_digests=digests(*range(10)))
_ONE_UNREAD = dataclasses.replace(_LOST, files_read=63, scan="full")
_NORMED = ("low", "mid", "high", "normed")
_FLAGGED = declaring(hidden_states_prenorm=True)
_UNFLAGGED = declaring(hidden_states_prenorm=False)

CASES: tuple[Case, ...] = (
    dataset_case("declaration", "the flag as declared", "must passed", declaring(hidden_states_prenorm=True)),
    dataset_case("declaration", "the flag contradicts", "must failed", declaring(hidden_states_prenorm=False)),
    dataset_case("declaration", "files differ", "must failed", declaring(hidden_states_prenorm=(False, True))),
    dataset_case("declaration", "stamped", "must passed", declaring(stamp={"contract": "toy-eagle3@1.0.0"})),
    dataset_case(
        "declaration", "stamped for another", "must failed", declaring(stamp={"contract": "toy-eagle3@2.0.0"})
    ),
    dataset_case("declaration", "stamped with every key", "must passed", stamped(sound_dataset())),
    dataset_case(
        "declaration", "stamped without contract", "must passed", declaring(stamp={"final_state": "pre_norm"})
    ),
    dataset_case("declaration", "stamped with nothing known", "must skipped", declaring(stamp={"note": "ours"})),
    dataset_case(
        "declaration",
        "stamped for other planes",
        "must failed, must failed",
        stamped(sound_dataset(), boundaries=list(range(40)), planes=["low"]),
    ),
    dataset_case(
        "declaration",
        "stamped under another digest",
        "must failed",
        stamped(sound_dataset(), contract_digest="0" * 64),
    ),
    dataset_case(
        "declaration",
        "one word right, one wrong",
        "must failed",
        declaring(hidden_states_prenorm=False, stamp=_CONTRACT),
    ),
    dataset_case("declaration", "cast since", "must failed", stamped(every_file(dtypes=("float16",) * 4))),
    dataset_case("declaration", "cast since in part", "must failed", stamped(odd_file(dtypes=("float16",) * 4))),
    dataset_case("declaration", "no planes stored", "must passed", stamped(every_file(widths=(), dtypes=()))),
    dataset_case(
        "declaration", "a dtype too long", "must failed, must failed", stamped(sound_dataset(), dtype="float" * 20)
    ),
    dataset_case("declaration", "texts as stamped", "must passed, must passed", texts(sound_dataset())),
    dataset_case("declaration", "texts replaced", "must failed", texts(_REPLACED)),
    dataset_case("declaration", "a text lost", "must failed", texts(_LOST)),
    dataset_case("declaration", "a text unread in a full scan", "must failed", texts(_ONE_UNREAD)),
    dataset_case("declaration", "some texts read", "must passed, must passed", texts(_PART)),
    dataset_case(
        "declaration", "some read, no text", "must passed", texts(dataclasses.replace(_PART, token_digests={}))
    ),
    dataset_case("declaration", "no text read", "must passed, must passed", texts(HEADERS)),
    dataset_case(
        "declaration", "texts stamped as a whole", "must passed, must passed", texts(sound_dataset(), "sample_digests")
    ),
    dataset_case("declaration", "texts replaced, as a whole", "must failed", texts(_REPLACED, "sample_digests")),
    dataset_case("declaration", "a number too long", "must failed", texts(sound_dataset(), samples="9" * 30)),
    dataset_case("declaration", "texts stamped as a word", "must passed", declaring(stamp=_CONTRACT | {"tokens": "x"})),
    dataset_case("declaration", "no final state, flagged", "must passed", _FLAGGED, toy_contract("low", "high")),
    dataset_case("declaration", "post-norm, not flagged", "must passed", _UNFLAGGED, toy_contract(*_NORMED)),
    dataset_case(
        "declaration",
        "post-norm and no target of training, not flagged",
        "must passed",
        _UNFLAGGED,
        toy_contract(*_NORMED, drafter={"last_hidden": "none"}),
    ),
    dataset_case(
        "declaration",
        "pre-norm and never normed, not flagged",
        "must passed",
        _UNFLAGGED,
        toy_contract(drafter={"last_hidden_norm": False}),
    ),
    dataset_case("declaration", "layer ids as declared", "must passed", configured([1, 3, 5, 7])),
    dataset_case("declaration", "layer ids one late", "must failed", configured([2, 4, 6, 7])),
    dataset_case("declaration", "unknown version", "must errored", configured([1, 3, 5, 7], "0.1.0")),
    dataset_case("declaration", "no version", "must errored", configured([1, 3, 5, 7], "main")),
    dataset_case("declaration", "a version too long", "must errored", configured([1, 3, 5, 7], "main-" * 20)),
    dataset_case("declaration", "a number for a version", "must errored", configured([1, 3, 5, 7], 0.4)),
    dataset_case("declaration", "a layer id short", "must failed", configured([1, 3, 5])),
    dataset_case("declaration", "no layer ids", "must failed", configured([])),
    dataset_case("declaration", "nothing said", "must skipped"),
    dataset_case("declaration", "nothing said, no final state", "must skipped", None, toy_contract("low", "high")),
    dataset_case("declaration", "no tables", "must skipped", declaring(stamp=[1], data_config="x")),
    dataset_case("declaration", "nothing read", "must errored", UNREAD),
)
