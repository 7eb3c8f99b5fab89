"""Notations in which good commands were once misread: what they say is what a container or a shell would get."""

from __future__ import annotations

from pathlib import Path

import pytest

from eagle3_contracts.evidence import LaunchEvidence
from eagle3_contracts.subjects.launches.reading import read_launch

SERVER = "python3 -m sglang.launch_server --model-path m"


def read(folder: Path, name: str, text: str) -> LaunchEvidence:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_launch(name, str(path))


def values(evidence: LaunchEvidence) -> dict[str, str]:
    assert not evidence.problems
    return {item.name or item.written: " ".join(word.text for word in item.values) for item in evidence.arguments}


_COMMENTED = f"""FROM x
ENV STEPS=1 TOPK="4"
ENV TOKENS 16
CMD {SERVER} \\
    # how much is drafted

    --speculative-num-steps $STEPS --speculative-eagle-topk ${{TOPK}} --speculative-num-draft-tokens $TOKENS
"""


def test_a_comment_within_an_instruction_ends_no_command_and_the_image_sets_variables(tmp_path: Path) -> None:
    evidence = read(tmp_path, "Dockerfile", _COMMENTED)
    assert values(evidence) == {
        "--model-path": "m",
        "--speculative-num-steps": "1",
        "--speculative-eagle-topk": "4",
        "--speculative-num-draft-tokens": "16",
    }
    assert {item.line for item in evidence.arguments} == {4, 7}


def test_what_is_set_for_building_an_image_alone_stays_open(tmp_path: Path) -> None:
    evidence = read(tmp_path, "Dockerfile", f"FROM x\nARG STEPS=1\nCMD {SERVER} --speculative-num-steps $STEPS\n")
    assert evidence.arguments[-1].open == ("$STEPS",)


def test_json_within_a_list_in_brackets_stays_whole(tmp_path: Path) -> None:
    text = 'services:\n  a:\n    command: ["vllm", "serve", "m", "--speculative-config", "{\\"a\\": 1, \\"b\\": 2}"]\n'
    assert read(tmp_path, "compose.yaml", text).speculation == {"a": 1, "b": 2}


def test_a_comment_behind_a_quoted_value_is_none_of_it(tmp_path: Path) -> None:
    text = "a:\n  command:\n  - sglang\n  - serve\n  - --model-path\n  - \"m # 1\"   # mine\n  - --tp\n  - '2' # two\n"
    assert values(read(tmp_path, "a.yml", text)) == {"--model-path": "m # 1", "--tp-size": "2"}


_POD = """spec:
  containers:
  - name: a
    command: [sglang, serve]
    args: [--model-path, "${MODEL:-m}", "--tp=$(TP)", "--dtype=$(DTYPE)"]
    env:
    - name: TP
      value: "2"
"""


def test_what_a_manifest_sets_itself_is_put_in_and_noted(tmp_path: Path) -> None:
    evidence = read(tmp_path, "pod.yaml", _POD)
    assert values(evidence)["--tp-size"] == "2"
    assert values(evidence)["--model-path"] == "m"
    assert evidence.arguments[-1].open == ("$DTYPE",)
    assert [note.split(" is ")[0] for note in evidence.notes] == ["$MODEL", "$(TP)"]


def test_a_value_that_two_containers_set_differently_stays_open(tmp_path: Path) -> None:
    other = "  - name: b\n    env:\n    - name: TP\n      value: '4'\n"
    evidence = read(tmp_path, "pod.yaml", _POD + other)
    assert next(item for item in evidence.arguments if item.written == "--tp").open == ("$TP",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("compose.yaml", "a:\n  image: vllm/vllm-openai:v1\n  command: >-\n    --model m\n    --max-model-len 8\n"),
        ("run.sh", "docker run --gpus all -e A=1 \\\n  vllm/vllm-openai:latest \\\n  --model m --max-model-len 8\n"),
        ("run.sh", "podman run docker.io/vllm/vllm-openai@sha256:ab --model m --max-model-len 8\n"),
    ],
)
def test_arguments_for_the_entry_point_of_an_image_are_the_servers(tmp_path: Path, name: str, text: str) -> None:
    evidence = read(tmp_path, name, text)
    assert evidence.engine == "vllm"
    assert values(evidence) == {"--model": "m", "--max-model-len": "8"}


@pytest.mark.parametrize("own", ['"$@"', "$@", "$*"])
def test_a_script_is_read_as_it_runs_without_arguments_of_its_own(tmp_path: Path, own: str) -> None:
    evidence = read(tmp_path, "serve.sh", f"{SERVER} {own}\n")
    assert values(evidence) == {"--model-path": "m"}
    assert "own arguments" in evidence.notes[0]


@pytest.mark.parametrize("before", ["set -- --tp 2\n", "run() {\n", "function run {\n"])
def test_arguments_that_the_script_itself_gives_stay_open(tmp_path: Path, before: str) -> None:
    evidence = read(tmp_path, "serve.sh", f'{before}{SERVER} "$@"\n')
    assert evidence.arguments[-1].open == ("$@",)
