"""SGLang's own merger of --config FILE.yaml, against what is taken of the same files by reading."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

import pytest

from support.config_files import READ


@pytest.mark.parametrize("text", READ)
def test_a_file_becomes_the_words_that_the_server_makes_of_it(text: str, tmp_path: Path) -> None:
    from sglang.srt.server_args import ServerArgs
    from sglang.srt.utils.server_args_config_parser import ConfigArgumentMerger

    path = tmp_path / "serve.yaml"
    path.write_text(text, encoding="utf-8")
    parser = ArgumentParser()
    ServerArgs.add_cli_args(parser)
    merged = ConfigArgumentMerger(parser).merge_config_with_args(["--tp", "2", "--config", str(path), "--dp", "1"])
    assert merged == [*READ[text], "--tp", "2", "--dp", "1"]
