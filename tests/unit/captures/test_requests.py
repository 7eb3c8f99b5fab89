"""The requests fill what the clauses need: enough tokens, different lengths, repeats, known ids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eagle3_contracts.subjects.captures.requests import make_requests


def test_equal_seeds_give_equal_requests() -> None:
    assert make_requests(1000, seed=3) == make_requests(1000, seed=3)
    assert make_requests(1000, seed=3) != make_requests(1000, seed=4)


def test_enough_tokens_remain_when_each_first_token_is_a_sink() -> None:
    requests = make_requests(1000)
    assert sum(len(request) - 1 for request in requests) >= 64
    assert len({len(request) for request in requests}) == len(requests) >= 3


def test_every_request_repeats_tokens() -> None:
    assert all(len(request) - len(set(request)) >= 3 for request in make_requests(150_000))


def test_the_last_two_requests_share_a_prefix_and_then_part() -> None:
    *_, one, other = make_requests(150_000)
    assert one[:9] == other[:9]
    assert one[9:] != other[9 : len(one)]


@given(st.integers(min_value=2, max_value=300_000), st.integers(min_value=0, max_value=50))
def test_ids_lie_in_the_vocabulary(vocab_size: int, seed: int) -> None:
    assert all(0 <= token < vocab_size for request in make_requests(vocab_size, seed) for token in request)


def test_ids_keep_away_from_the_ends_of_a_vocabulary() -> None:
    """Special tokens and unused rows stand there: an all-zero embedding row would look like an unwritten one."""
    assert all(1000 <= token < 8000 for request in make_requests(16_000) for token in request)
