"""The plugin costs a run nothing that the run does not use, and listing touches nothing."""

from __future__ import annotations

import sys

import pytest

from support.consumer import GOOD, Consumer, count, said

HEAVY = ("numpy", "torch", "pydantic", "transformers", "safetensors", "pyarrow")
LIGHT_RUN = (
    "eagle3_contracts",
    "eagle3_contracts.plugin",
    "eagle3_contracts.testing",
    "eagle3_contracts.testing.settings",
)
PROBE = """
import sys

def pytest_unconfigure():
    found = sorted(name for name in sys.modules if name.partition(".")[0] in {roots!r})
    print("IMPORTED", *found)
"""


def imported(result: pytest.RunResult) -> list[str]:
    (line,) = [line for line in result.outlines if line.startswith("IMPORTED")]
    return line.split()[1:]


@pytest.fixture
def probed(consumer: Consumer) -> Consumer:
    consumer.pytester.makeconftest(PROBE.format(roots=(*HEAVY, "eagle3_contracts")))
    return consumer


def test_a_run_without_clauses_imports_the_options_and_the_marks_only(probed: Consumer) -> None:
    probed.pytester.makepyfile(test_own="def test_other(): pass")
    result = probed.run_apart()
    assert result.ret == pytest.ExitCode.OK
    assert imported(result) == [*LIGHT_RUN[:3], "eagle3_contracts.testing.marks", LIGHT_RUN[3]]


def test_listing_imports_nothing_heavy_and_opens_no_subject(probed: Consumer) -> None:
    arguments = ("--contract", "own.toml", "--contract-capture", GOOD, "--contract-hidden-states", "no-such-folder")
    result = probed.run_apart("--pyargs", "eagle3_contracts.suite", "--co", "-q", *arguments)
    assert result.ret == pytest.ExitCode.OK
    assert f"{count()} tests collected" in said(result)
    assert [name for name in imported(result) if name.partition(".")[0] in HEAVY] == []
    assert not (probed.path / "imported.txt").exists()


def test_listing_the_embedded_default_imports_nothing_heavy(probed: Consumer) -> None:
    result = probed.run_apart("--pyargs", "eagle3_contracts.suite", "--co", "-q", "--contract-subject=embedded")
    assert result.ret == pytest.ExitCode.OK
    assert "test_clause[capture.runs]" in said(result)
    assert [name for name in imported(result) if name.partition(".")[0] in HEAVY] == []


def test_the_entry_point_and_a_conftest_that_names_the_plugin_load_it_once(consumer: Consumer) -> None:
    consumer.pytester.makeconftest('pytest_plugins = ["eagle3_contracts.plugin"]')
    consumer.pytester.makepyfile(test_own="def test_other(): pass")
    result = consumer.run_apart("-W", "error", "--trace-config")
    assert result.ret == pytest.ExitCode.OK
    loaded = [line for line in result.outlines if line.strip().startswith("eagle3_contracts.plugin")]
    assert len(loaded) == 1
    assert sys.modules["eagle3_contracts.plugin"].__name__ in loaded[0]
