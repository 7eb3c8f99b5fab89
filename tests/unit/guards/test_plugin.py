"""The plugin where SGLang is not: how light it is, that it does nothing unasked, and that it never passes unseen.

With SGLang it is shown by real servers, in tests/live/guards.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from eagle3_contracts.guards.settings import CONTRACT, MODE, UNCHECKED, VARIABLES

GROUP = "sglang.srt.plugins"
REGISTER = "from eagle3_contracts.guards.sglang_plugin import register; register()"
ABSENT = "import sys; sys.modules['sglang'] = None; "  # as where SGLang is not installed, or not importable
HEAVY = "; print(sorted({'torch', 'numpy', 'pydantic', 'sglang'} & set(sys.modules)))"


def run(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES} | variables
    return subprocess.run(  # noqa: S603 (our own interpreter)
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=120
    )


def test_sglang_finds_it() -> None:
    (found,) = [item for item in entry_points(group=GROUP) if item.name == "eagle3_contracts"]
    assert found.value == "eagle3_contracts.guards.sglang_plugin:register"
    assert callable(found.load())


def test_it_does_and_loads_nothing_where_no_guard_is_asked_for() -> None:
    done = run(f"import sys; {REGISTER}{HEAVY}")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "[]", "")


def test_where_it_cannot_be_hung_in_the_start_ends_with_the_reason() -> None:
    done = run(ABSENT + REGISTER, **{CONTRACT: "tiny-llama-eagle3"})
    assert done.returncode == 1
    assert "COULD NOT CHECK this version of SGLang, into which it cannot be hung" in done.stderr
    assert f"{UNCHECKED}=serve" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("more", [{MODE: "warn"}, {UNCHECKED: "serve"}])
def test_and_goes_on_with_a_word_where_that_is_chosen(more: dict[str, str]) -> None:
    done = run(ABSENT + REGISTER, **{CONTRACT: "tiny-llama-eagle3"}, **more)
    assert done.returncode == 0
    assert "COULD NOT CHECK" in done.stderr
