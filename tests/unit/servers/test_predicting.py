"""Greedy text is foretold the same whatever was guessed, and rounds are walked as SGLang counts them."""

from __future__ import annotations

import numpy as np
import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.subjects.servers.predicting import Oracle
from eagle3_contracts.subjects.targets import open_target

PROMPT = (0, 4, 108, 10, 214, 138, 122)


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    contract = load_contract(CONTRACT)
    return Oracle(contract, open_target(str(embedded_target()), contract))


def test_a_guess_changes_nothing_but_the_time(oracle: Oracle) -> None:
    plain = oracle.predict(PROMPT, 6)
    right = plain.output_ids
    for guess in (right, right[:3], (*right[:2], 255, *right[3:]), (9, 9, 9, 9, 9, 9), (300, -1), (*right, 7, 7)):
        again = oracle.predict(PROMPT, 6, tuple(token for token in guess if token >= 0))
        assert again.output_ids == right
        np.testing.assert_allclose(again.top_logprobs, plain.top_logprobs, atol=1e-5)


def test_the_text_is_what_the_target_chooses_token_by_token(oracle: Oracle) -> None:
    text = list(PROMPT)
    for _ in range(6):
        text.append(int(oracle.target.reference(tuple(text)).logits[-1].argmax()))
    foretold = oracle.predict(PROMPT, 6)
    assert foretold.output_ids == tuple(text[len(PROMPT) :])
    assert foretold.gaps.shape == (6,)
    assert foretold.top_ids.shape == (len(PROMPT) + 6, 32)
    assert foretold.top_ids[len(PROMPT) - 1 : -1, 0].tolist() == list(foretold.output_ids)
