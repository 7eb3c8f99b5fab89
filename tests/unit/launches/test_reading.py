"""Launch commands are found in every form of file, with their engine, their arguments and their lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eagle3_contracts.evidence import Argument, LaunchEvidence
from eagle3_contracts.subjects import SubjectError
from eagle3_contracts.subjects.launches.models import look_at_model
from eagle3_contracts.subjects.launches.reading import read_launch

FLAGS = ["--model-path", "m", "--tp", "2"]


def read(folder: Path, name: str, text: str) -> LaunchEvidence:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_launch(name, str(path))


def said(evidence: LaunchEvidence) -> list[tuple[str, list[str], int | None]]:
    return [(item.name, [word.text for word in item.values], item.line) for item in evidence.arguments]


_SERVER = "python3 -m sglang.launch_server"
_POD = """spec:
  containers:
  - name: a
    command: ["sglang", "serve"]
    args: ["--model-path", "m",
      "--tp", "2"]
  - name: b
    command: [sleep]
"""
_LIST = """services:
  a:
    command:
      - sglang
      - serve
      - --model-path
      - m
      - --tp
      - '2'
"""
_BLOCK = """spec:
  containers:
  - command: [sh, -c]
    args:
    - |
      set -e
      sglang serve \\
        --model-path m \\
        --tp 2
"""
_DOCKER = 'FROM x\nENTRYPOINT ["python3", "-m", "sglang.launch_server"]\nCMD ["--model-path", "m", "--tp", "2"]\n'
FORMS = [
    ("serve.sh", f"#!/bin/sh\n{_SERVER} \\\n  --model-path m \\\n  --tp 2 2>&1 | tee log\n", 3),
    ("run.sh", f"docker run -e A=1 image \\\n bash -c '{_SERVER}\\\n --model-path m\\\n --tp 2'\n", 3),
    ("Dockerfile", _DOCKER, 3),
    ("app.dockerfile", f"FROM x\nCMD {_SERVER} \\\n    --model-path m --tp 2\n", 3),
    ("a.service", f"[Service]\nExecStart=/usr/bin/env {_SERVER} \\\n  --model-path m --tp 2\n", 3),
    ("compose.yaml", "services:\n  a:\n    command: >\n      sglang serve\n      --model-path m\n      --tp 2\n", 5),
    ("list.yaml", _LIST, 6),
    ("pod.yml", _POD, 5),
    ("block.yml", _BLOCK, 8),
]


@pytest.mark.parametrize(("name", "text", "line"), FORMS, ids=[form[0] for form in FORMS])
def test_a_command_is_found_with_its_lines(tmp_path: Path, name: str, text: str, line: int) -> None:
    evidence = read(tmp_path, name, text)
    assert not evidence.problems
    assert evidence.engine == "sglang"
    assert [(item, values) for item, values, _ in said(evidence)] == [("--model-path", ["m"]), ("--tp-size", ["2"])]
    assert evidence.arguments[0].line == line


@pytest.mark.parametrize("text", [json.dumps(FLAGS), json.dumps({"Entrypoint": ["sglang", "serve"], "Cmd": FLAGS})])
def test_arguments_of_a_container_are_read(tmp_path: Path, text: str) -> None:
    assert [item[:2] for item in said(read(tmp_path, "a.json", text))] == [
        ("--model-path", ["m"]),
        ("--tp-size", ["2"]),
    ]


def test_a_command_line_is_read_as_it_is() -> None:
    evidence = read_launch("command line", "vllm serve a/b --max-model-len 8k")
    assert evidence.engine == "vllm"
    assert evidence.target is not None
    assert evidence.target.text == "a/b"
    assert not evidence.strays


def test_the_last_of_several_wins() -> None:
    evidence = read_launch("x", "sglang serve --tp 1 --tensor-parallel-size 2 --tp-size=4")
    argument = evidence.last("--tp-size")
    assert argument is not None
    assert argument.values[0].text == "4"


def test_a_negative_number_is_a_value() -> None:
    (argument,) = read_launch("x", "sglang serve --chunked-prefill-size -1").arguments
    assert argument.values[0].text == "-1"


def test_vllms_table_is_put_together() -> None:
    text = 'vllm serve m -sc \'{"method": "eagle3"}\' --speculative-config.model a/b --spec-tokens 3'
    assert read_launch("x", text).speculation == {"method": "eagle3", "model": "a/b", "num_speculative_tokens": 3}


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.yaml", "a:\n  command: *anchor\n", "is not read here"),
        ("b.yaml", "a:\n  args:\n  - {{ .Values.model }}\n", "is not read here"),
        ("c.json", "[1, 2", "no JSON"),
        ("d.sh", "python train.py\n", "no command in it"),
        ("e.json", '["--port", "1"]', "no command in it"),
        ("f.json", '["--model-path", "m", "--max-model-len", "1"]', "no command in it"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, name: str, text: str, reason: str) -> None:
    (problem,) = read(tmp_path, name, text).problems
    assert reason in problem.reason
    assert problem.where.file == name


@pytest.mark.parametrize("value", ["missing.sh", ""])
def test_one_word_that_is_no_file_is_no_subject(value: str) -> None:
    with pytest.raises(SubjectError):
        read_launch("x", value)


def test_a_folder_is_no_launch_command(tmp_path: Path) -> None:
    with pytest.raises(SubjectError, match="this is no file"):
        read_launch("x", str(tmp_path))


def test_the_folder_of_the_draft_is_looked_for_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "config.json").write_text('{"architectures": ["A"]}', encoding="utf-8")
    text = "sglang serve --model-path /nowhere/here --speculative-draft-model-path draft"
    evidence = read(tmp_path, "serve.sh", text)
    assert evidence.draft is not None
    assert evidence.draft.config == {"architectures": ["A"]}
    assert evidence.target is not None
    assert (evidence.target.local, evidence.target.missing) == (True, True)


def test_a_folder_below_home_is_found_as_a_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "drafter").mkdir()
    (tmp_path / "drafter" / "config.json").write_text('{"hidden_size": 3}', encoding="utf-8")
    for text, config in {
        "~/drafter": {"hidden_size": 3},
        "~/dafter": None,
        "~nobody-of-this-name/drafter": None,
    }.items():
        named = look_at_model(Argument("--model-path", "--model-path"), text, (tmp_path,))
        assert (named.config, named.missing) == (config, config is None)
