"""Any contract: written and read back it is the same, and no change of substance goes unnoticed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eagle3_contracts.contract import Contract, ContractError
from eagle3_contracts.contract.changes import Kind
from eagle3_contracts.contract.comparing import compare, compare_contracts
from eagle3_contracts.contract.describing import describe_contract, render_contract
from eagle3_contracts.contract.explaining import explain_defects
from eagle3_contracts.contract.formats import HABITS
from eagle3_contracts.contract.loading import parse_contract
from eagle3_contracts.contract.writing import write_contract

DTYPES = ("float32", "bfloat16", "float16", "float8_e4m3fn", "float8_e5m2")
# What pydantic and TOML both call a text: no surrogates, no control characters but tab and line feed.
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\t\n"), min_size=1, max_size=20)
counts = st.integers(1, 2**40)
factors = st.floats(1e-9, 1e9)
digests = st.text("0123456789abcdef", min_size=64, max_size=64)
offsets = st.lists(st.integers(-3, 3), min_size=1, max_size=4, unique=True).map(sorted)


def some(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Give tables in which each of these keys may be left out."""
    return st.fixed_dictionaries({}, optional=optional)


norms = st.builds(
    lambda table, eps: {**table, "eps": eps},
    some(kind=st.sampled_from(["rms", "layer"]), plus_one=st.booleans()),
    factors,
)
ropes = st.one_of(
    some(layout=st.sampled_from(["half", "interleaved"]), partial_factor=st.floats(0.1, 1.0)),
    st.fixed_dictionaries({"type": st.just("linear"), "factor": factors}),
    st.fixed_dictionaries(
        {"type": st.just("yarn"), "factor": factors, "original_max_position": counts},
        optional={"beta_fast": factors, "mscale": st.floats(-5, 5), "truncate": st.booleans()},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("longrope"),
            "original_max_position": counts,
            "short_factor": st.lists(factors, min_size=1, max_size=3),
            "long_factor": st.lists(factors, min_size=1, max_size=3),
        }
    ),
)
attentions = st.one_of(
    st.builds(
        lambda groups, heads, width, table: {
            **table,
            "kind": "gqa",
            "heads": groups * heads,
            "kv_heads": heads,
            "head_dim": width,
        },
        st.integers(1, 8),
        st.integers(1, 64),
        st.integers(1, 256),
        some(qk_norm=st.booleans(), bias=st.booleans(), sliding_window=counts, sinks=st.booleans()),
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("mla"),
            "heads": counts,
            "kv_lora_rank": counts,
            "qk_nope_head_dim": counts,
            "qk_rope_head_dim": counts,
            "v_head_dim": counts,
        },
        optional={"q_lora_rank": counts, "bias": st.booleans()},
    ),
)


@st.composite
def plane_tables(draw: st.DrawFn, layers: int) -> list[dict[str, Any]]:
    """Give planes at different boundaries or in different states."""
    boundaries = draw(st.lists(st.integers(0, layers), min_size=1, max_size=6, unique=True))
    planes = []
    for number, boundary in enumerate(boundaries):
        plane: dict[str, Any] = {"name": f"p{number}", "boundary": boundary}
        if boundary == layers:
            plane["state"] = draw(st.sampled_from(["pre_norm", "post_norm"]))
        if draw(st.booleans()):
            low = draw(st.floats(0, 1e6))
            plane["norm"] = {"median": [low, low + draw(st.floats(1, 1e6))], "origin": draw(texts)}
        planes.append(plane)
    return planes


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    """Give documents of every shape that schema 1 allows."""
    layers, wide, vocab = draw(st.integers(1, 200)), draw(st.integers(1, 10_000)), draw(st.integers(2, 10**6))
    planes = draw(plane_tables(layers))
    names = [plane["name"] for plane in planes]
    orders = st.lists(st.sampled_from(names), min_size=1, max_size=len(names), unique=True)
    drafts = draw(st.sampled_from([vocab, vocab - 1]))
    own = draw(st.sampled_from([wide, wide + 1]))
    heads = ["own"] + ["target_rows"] * (own == wide) + ["embedding"] * (drafts == vocab)
    heads += ["target"] * (own == wide and drafts == vocab)
    return {
        "schema": 1,
        "name": draw(st.text("abz09.-", max_size=10).map("n{}".format)),
        "version": draw(st.tuples(*[st.integers(0, 99)] * 3).map("{0[0]}.{0[1]}.{0[2]}".format)),
        "summary": draw(texts),
        "sources": draw(st.lists(texts, max_size=3)),
        "target": {
            "model": draw(texts),
            "architecture": draw(texts),
            "hidden_size": wide,
            "num_hidden_layers": layers,
            "vocab_size": vocab,
            "dtype": draw(st.sampled_from(DTYPES)),
            "norm": draw(norms),
            **draw(some(quantization=texts, embed_scale=factors, logit_softcap=factors, weights_sha256=digests)),
            **draw(
                some(tokenizer=some(vocab_sha256=digests, chat_template_sha256=digests), tied_embedding=st.booleans())
            ),
        },
        "planes": planes,
        "storage": {
            "planes": draw(orders),
            **draw(
                some(
                    formats=st.dictionaries(st.sampled_from(sorted(HABITS)), orders, max_size=4),
                    dtype=st.sampled_from(DTYPES),
                    dtypes=st.dictionaries(st.sampled_from(sorted(HABITS)), st.sampled_from(DTYPES), max_size=4),
                )
            ),
        },
        "drafter": {
            "input": draw(orders),
            "last_hidden": draw(st.sampled_from(["none", *names])),
            "hidden_size": own,
            "attention": draw(attentions),
            "intermediate_size": draw(counts),
            "draft_vocab_size": drafts,
            "d2t": draw(st.sampled_from(["offset", "absolute"] + ["none"] * (drafts == vocab))),
            "embedding": draw(st.sampled_from(["own"] + ["target"] * (own == wide))),
            "lm_head": draw(st.sampled_from(heads)),
            "fc": draw(some(bias=st.booleans(), input_norm=st.sampled_from(["none", "joint", "per_plane"]))),
            "rope": {"theta": draw(factors), **draw(ropes)},
            "max_position": draw(counts),
            **draw(some(layers=counts, norm=norms, head_norm=st.booleans(), last_hidden_norm=st.booleans())),
            **draw(some(residual=st.sampled_from(["pre_norm", "post_norm"]), training_steps=counts)),
        },
        **draw(some(alignment=some(token=offsets, target=offsets, loss_mask=offsets, position=offsets))),
        **draw(some(serving=st.just({"engines": {"sglang": ">=0.5.20"}, "min_draft_tokens": 3}))),
        "tolerance": draw(
            st.dictionaries(
                st.sampled_from(DTYPES),
                st.fixed_dictionaries(
                    {"relative_l2_median": st.floats(1e-6, 0.9), "logprob_max": factors, "origin": texts}
                ),
                max_size=3,
            )
        ),
    }


def read(values: dict[str, Any]) -> Contract:
    return Contract.model_validate_json(json.dumps(values))


contracts = documents().map(read)


@given(contracts)
def test_a_contract_is_the_same_written_and_read_back(contract: Contract) -> None:
    again = parse_contract(write_contract(contract))
    assert again == contract
    assert again.digest == contract.digest


@given(documents())
def test_a_sound_document_has_no_defects(values: dict[str, Any]) -> None:
    assert explain_defects(values) == ()


@given(contracts)
def test_what_is_left_out_is_what_the_contract_says(contract: Contract) -> None:
    whole = contract.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert read(whole).digest == contract.digest


@given(contracts)
def test_a_contract_does_not_differ_from_itself(contract: Contract) -> None:
    comparison = compare(contract, contract)
    assert comparison.changes == ()
    assert comparison.version_suffices


@given(contracts, contracts)
def test_contracts_that_say_different_things_have_changes(one: Contract, other: Contract) -> None:
    there, back = compare_contracts(one, other), compare_contracts(other, one)
    said = [contract.model_dump(exclude_defaults=True, exclude={"version"}) for contract in (one, other)]
    assert bool(there) == bool(back) == (said[0] != said[1])
    assert {change.place for change in there} == {change.place for change in back} or any(
        change.place.startswith("planes.") for change in (*there, *back)
    )


SUBSTANCE = {
    "target.hidden_size": lambda value: value + 1,
    "target.dtype": lambda value: "float32" if value != "float32" else "bfloat16",
    "target.model": lambda value: value + "x",
    "target.norm.eps": lambda value: value * 2,
    "drafter.intermediate_size": lambda value: value + 1,
    "drafter.rope.theta": lambda value: value * 2,
    "drafter.max_position": lambda value: value + 1,
    "drafter.d2t": lambda value: "absolute" if value != "absolute" else "offset",
    "storage.planes": lambda value: value[::-1],
    "drafter.input": lambda value: value[::-1],
    "planes": lambda value: [{**value[0], "boundary": value[0]["boundary"] + 1}, *value[1:]],
}


@given(documents(), st.sampled_from(sorted(SUBSTANCE)))
def test_any_change_of_substance_is_breaking(values: dict[str, Any], place: str) -> None:
    changed = json.loads(json.dumps(values))
    *path, key = place.split(".")
    table = changed
    for part in path:
        table = table[part]
    table[key] = SUBSTANCE[place](table[key])
    assume(changed != values and not explain_defects(json.loads(json.dumps(changed))))
    comparison = compare(read(values), read(changed))
    unused = place == "planes" and all(
        values["planes"][0]["name"] not in order
        for order in (
            values["storage"]["planes"],
            *values["storage"].get("formats", {}).values(),
            values["drafter"]["input"],
            [values["drafter"]["last_hidden"]],
        )
    )
    assert comparison.kind is (Kind.COMPATIBLE if unused else Kind.BREAKING)
    assert not comparison.version_suffices
    assert any(change.kind is comparison.kind for change in comparison.changes)


@given(contracts)
def test_a_contract_can_be_shown(contract: Contract) -> None:
    assert json.loads(json.dumps(describe_contract(contract)))["contract"] == contract.reference
    lines = render_contract(contract)
    for plane in contract.planes:
        assert any(
            line.startswith(f"plane    {plane.name} ") and f"boundary {plane.boundary} " in line for line in lines
        )


@given(st.text(max_size=200))
def test_no_text_gets_past_the_reader_with_another_error(text: str) -> None:
    with pytest.raises(ContractError) as caught:
        parse_contract(text)
    assert caught.value.reason


keys = st.sampled_from(
    ["schema", "name", "target", "planes", "storage", "drafter", "tolerance", "norm", "boundary", "x"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(keys, values, max_size=6), documents(), st.data())
def test_any_nonsense_is_explained(nonsense: dict[str, Any], sound: dict[str, Any], data: st.DataObject) -> None:
    table = data.draw(st.sampled_from(["target", "storage", "drafter", "top"]))
    mixed = {**sound, **nonsense} if table == "top" else {**sound, table: {**sound[table], **nonsense}}
    defects = explain_defects(mixed)
    assert all(defect.observed and defect.expected for defect in defects)
    if not defects:
        read(mixed)
