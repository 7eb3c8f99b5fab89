"""The examples load, and together they say everything that schema 1 can say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from eagle3_contracts.contract import Contract, load_contract
from support.documents import EXAMPLES

PATHS = sorted(EXAMPLES.glob("*.toml"))
CONTRACTS = [load_contract(path) for path in PATHS]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_an_example_loads(path: Any) -> None:
    assert load_contract(path).name == f"example-{path.stem}"


def test_there_is_an_example_of_each_family() -> None:
    assert [path.stem for path in PATHS] == ["gemma", "gpt-oss", "kimi-mla", "llama", "qwen3"]


def test_every_key_is_written_in_some_example() -> None:
    written = {place for contract in CONTRACTS for place in _written(contract)}
    assert _keys(Contract) - written == set()


def test_every_word_that_a_key_takes_is_written_in_some_example() -> None:
    spoken = {word for contract in CONTRACTS for word in _spoken(contract)}
    silent = {word for word in _words(Contract) - spoken if not word[0].endswith((".dtype", ".dtypes", ".tolerance"))}
    # Scaling types whose parameters others have as well.
    assert silent == {("Rope.type", "linear"), ("Rope.type", "dynamic")}


FEATURES = {
    "a post-norm final state": lambda c: any(p.state == "post_norm" for p in c.planes),
    "a post-norm tap that is fed": lambda c: any(p.state == "post_norm" for p in c.input_planes()),
    "the final state that is fed": lambda c: any(p.state == "pre_norm" for p in c.input_planes()),
    "the embedding that is fed": lambda c: any(p.boundary == 0 for p in c.input_planes()),
    "more than three planes": lambda c: len(c.drafter.input) > 3,
    "fewer than three planes": lambda c: len(c.drafter.input) < 3,
    "planes fed in another order than by depth": lambda c: (
        [p.boundary for p in c.input_planes()] != sorted(p.boundary for p in c.input_planes())
    ),
    "no fc": lambda c: not c.drafter.fc.present,
    "norm_before_fc": lambda c: c.drafter.fc.input_norm == "joint",
    "fc_norm": lambda c: c.drafter.fc.input_norm == "per_plane",
    "norm_output of the engines": lambda c: c.drafter.recurrent == "post_norm",
    "norm_output of SpecForge, off": lambda c: not c.drafter.head_norm,
    "another width than the target's": lambda c: c.drafter.hidden_size != c.target.hidden_size,
    "text_config": lambda c: c.target.config_path == "text_config",
    "a quantised target": lambda c: c.target.quantization != "none",
    "no last hidden state": lambda c: c.last_hidden_plane() is None,
    "formats that store other planes": lambda c: any(
        c.stored_planes(name) != c.stored_planes() for name in c.storage.formats
    ),
    "a mask by the state's token": lambda c: c.alignment.loss_mask == (0,),
    "a mask by the next token": lambda c: c.alignment.loss_mask == (1,),
    "positions from 1": lambda c: c.alignment.position == (1,),
    "a norm applied as 1 + w": lambda c: c.target.norm.plus_one,
    "drafter norms unlike the target's": lambda c: c.drafter.norm is not None and c.drafter.norm != c.target.norm,
    "more than one layer": lambda c: c.drafter.layers > 1,
}


@pytest.mark.parametrize("feature", FEATURES)
def test_an_example_shows(feature: str) -> None:
    assert any(FEATURES[feature](contract) for contract in CONTRACTS)


def _tables(model: type[BaseModel], seen: set[type[BaseModel]] | None = None) -> Iterator[type[BaseModel]]:
    seen = seen if seen is not None else set()
    if model not in seen:
        seen.add(model)
        yield model
        for field in model.model_fields.values():
            for inner in _models_in(field.annotation):
                yield from _tables(inner, seen)


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models_in(argument)


def _keys(model: type[BaseModel]) -> set[str]:
    return {f"{table.__name__}.{name}" for table in _tables(model) for name in table.model_fields}


def _written(table: BaseModel) -> Iterator[str]:
    for name in table.model_fields_set:
        yield f"{type(table).__name__}.{name}"
        for inner in _inner(getattr(table, name)):
            yield from _written(inner)


def _inner(value: Any) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
    elif isinstance(value, dict | tuple):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _inner(entry)


def _words(model: type[BaseModel]) -> set[tuple[str, str]]:
    return {
        (f"{table.__name__}.{name}", word)
        for table in _tables(model)
        for name, field in table.model_fields.items()
        for word in _literals(field.annotation)
    }


def _literals(annotation: Any) -> Iterator[str]:
    if get_origin(annotation) is Literal:
        yield from (word for word in get_args(annotation) if isinstance(word, str))
    for argument in get_args(annotation):
        yield from _literals(argument)


def _spoken(table: BaseModel) -> Iterator[tuple[str, str]]:
    for name in type(table).model_fields:
        value = getattr(table, name)
        words = (*value, *value.values()) if isinstance(value, dict) else (value,)
        yield from ((f"{type(table).__name__}.{name}", word) for word in words if isinstance(word, str))
        for inner in _inner(value):
            yield from _spoken(inner)
