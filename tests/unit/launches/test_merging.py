"""SGLang's --config FILE.yaml: merged where every reader takes it alike, and otherwise left as what was not read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.evidence import Word
from eagle3_contracts.findings import Verdict
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Options, Subject
from eagle3_contracts.subjects.launches.merging import MOST_BYTES, merge_config
from support.config_files import READ, UNREAD

SERVER = "python -m sglang.launch_server --model-path m --config serve.yaml"
STORY = """
# as the story's server was started
speculative-algorithm: EAGLE3
speculative-num-steps: 1
speculative-num-draft-tokens: 16
speculative-eagle-topk: 1   # a chain
"""


def merge(folder: Path, text: str, *words: str) -> tuple[list[str], str]:
    (folder / "serve.yaml").write_text(text, encoding="utf-8")
    given = tuple(Word(word, 1) for word in (words or ("--tp", "2", "--config", "serve.yaml", "--dp", "1")))
    merged, note = merge_config(given, (folder,))
    return [word.text for word in merged], note


@pytest.mark.parametrize("text", READ)
def test_options_come_before_those_of_the_command(text: str, tmp_path: Path) -> None:
    merged, note = merge(tmp_path, text)
    assert merged == [*READ[text], "--tp", "2", "--dp", "1"]
    assert "serve.yaml" in note


@pytest.mark.parametrize("text", UNREAD)
def test_what_readers_may_take_otherwise_is_not_merged(text: str, tmp_path: Path) -> None:
    assert merge(tmp_path, text) == (["--tp", "2", "--config", "serve.yaml", "--dp", "1"], "")


@pytest.mark.parametrize(
    "words", [("--config",), ("--config", "lost.yaml"), ("--config", "a\0b"), ("--config", "serve.yaml") * 2]
)
def test_a_file_that_is_not_there_or_not_the_only_one_is_not_merged(words: tuple[str, ...], tmp_path: Path) -> None:
    assert merge(tmp_path, "tp: 2\n", *words) == (list(words), "")


def test_a_pipe_is_not_waited_for_and_a_huge_file_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert merge(tmp_path, "#" * (MOST_BYTES + 1))[1] == ""
    assert merge(tmp_path, "tp: 2\n", "--config", "pipe.yaml")[1] == ""


def told(folder: Path, command: str, text: str) -> dict[str, tuple[Verdict, str]]:
    (folder / "serve.yaml").write_text(text, encoding="utf-8")
    (folder / "serve.sh").write_text(command, encoding="utf-8")
    report = check(load_contract(CONTRACT), [Subject("launch", str(folder / "serve.sh"), "server")], Options())
    return {item.clause: (item.verdict, item.observed) for item in report.findings}


def test_the_storys_draft_tokens_are_found_in_the_file(tmp_path: Path) -> None:
    verdict, observed = told(tmp_path, SERVER, STORY)["launch.draft-tokens"]
    assert verdict is Verdict.FAILED
    assert "2 of 16" in observed


def test_the_command_wins_over_the_file(tmp_path: Path) -> None:
    command = f"{SERVER} --speculative-num-steps 15"
    assert told(tmp_path, command, STORY)["launch.draft-tokens"][0] is Verdict.PASSED


def test_a_file_that_was_not_read_lets_nothing_pass_that_it_may_hold(tmp_path: Path) -> None:
    verdict, observed = told(tmp_path, SERVER, f"{STORY}log-level: &level info\n")["launch.algorithm"]
    assert verdict is Verdict.ERRORED
    assert "may stand in the file of --config, which is not read" in observed
