"""What a server's environment may say of its guard: nothing, something that is meant, or something that is wrong."""

from __future__ import annotations

import pytest

from eagle3_contracts.guards.settings import CONTRACT, MODE, UNCHECKED, VARIABLES, read_guard_settings
from eagle3_contracts.testing.settings import OTHERS, unknown_variables


def test_nothing_is_guarded_unless_it_is_asked_for() -> None:
    assert read_guard_settings({"EAGLE3_CONTRACT": "kimi-k2.5-eagle3", "PATH": "/bin"}) == (None, "")


def test_refusing_is_what_is_done_by_default() -> None:
    found, wrong = read_guard_settings({CONTRACT: "kimi-k2.5-eagle3@2.0.0"})
    assert found is not None
    assert (found.contract, found.refuses, found.refuses_unchecked, wrong) == ("kimi-k2.5-eagle3@2.0.0", True, True, "")


@pytest.mark.parametrize(
    ("given", "refuses", "refuses_unchecked"),
    [({MODE: "warn"}, False, False), ({UNCHECKED: "serve"}, True, False), ({MODE: "refuse"}, True, True)],
)
def test_each_mode(given: dict[str, str], refuses: bool, refuses_unchecked: bool) -> None:  # noqa: FBT001
    found, wrong = read_guard_settings({CONTRACT: "x"} | given)
    assert found is not None
    assert (found.refuses, found.refuses_unchecked, wrong) == (refuses, refuses_unchecked, "")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({CONTRACT: ""}, f"{CONTRACT} is set, but empty"),
        ({CONTRACT: "x", MODE: "  "}, f"{MODE} is set, but empty"),
        ({MODE: "warn"}, f"{MODE} is set without {CONTRACT}, which names the contract"),
        ({CONTRACT: "x", MODE: "warm"}, f"{MODE} is 'warm': write refuse or warn"),
        ({CONTRACT: "x", UNCHECKED: "yes"}, f"{UNCHECKED} is 'yes': write refuse or serve"),
    ],
)
def test_what_is_wrong_is_told_and_never_means_less(given: dict[str, str], said: str) -> None:
    found, wrong = read_guard_settings(given)
    assert found is not None
    assert said in wrong
    assert found.refuses or given.get(MODE) == "warn"


def test_the_suite_takes_none_of_them_for_a_typing_error() -> None:
    assert set(VARIABLES) <= OTHERS
    assert unknown_variables(dict.fromkeys((*VARIABLES, f"{MODE}S"), "x")) == {f"{MODE}S": MODE}
