"""Ask the installed SGLang what it makes of command lines: its own parser, resolution and model configs.

Run as a program of its own, beside a stand-in for ``sgl_kernel``: ``ask`` starts it, gives it all commands at once
(importing SGLang takes most of the time), and each is resolved in a fork of its own, so that none leaves traces.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STAND_IN = Path(__file__).with_name("sgl_kernel_stand_in")
KEPT = ("speculative_", "enable_return", "context_length", "dtype", "quantization", "disable_radix", "chunked_prefill")


@dataclass(frozen=True)
class Command:
    """The arguments of one launch, and what is set beside it."""

    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Resolved:
    """What the server would run with: its arguments, dtype and context of target and draft. ``stops``: why it ends."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    target: Mapping[str, Any] = field(default_factory=dict)
    draft: Mapping[str, Any] = field(default_factory=dict)
    stops: str = ""


def ask(commands: Sequence[Command]) -> tuple[list[Resolved], frozenset[str]]:
    """Resolve all commands, in order; also give the names of all flags that the server defines."""
    given = json.dumps([[list(command.words), dict(command.environment)] for command in commands])
    environment = {
        **os.environ,
        "PYTHONPATH": str(STAND_IN),
        "PYTHONWARNINGS": "ignore",
        "SGLANG_USE_CPU_ENGINE": "1",
        "SGLANG_PLUGINS": "none",
        "HF_HUB_OFFLINE": "1",
    }
    done = subprocess.run(  # noqa: S603
        [sys.executable, __file__],
        input=given,
        capture_output=True,
        text=True,
        env=environment,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers, names = json.loads(done.stdout.rpartition("\n")[2])
    return [Resolved(**answer) for answer in answers], frozenset(names)


def _resolve(words: list[str]) -> dict[str, Any]:
    from sglang.srt.server_args import prepare_server_args

    arguments = prepare_server_args(words)
    arguments.resolve_once()
    told = arguments.resolved_dict()
    kept = {name: value for name, value in told.items() if name.startswith(KEPT)}
    draft = kept.get("speculative_draft_model_path")
    return {
        "arguments": json.loads(json.dumps(kept, default=str)),
        "target": _model(arguments),
        "draft": _model(arguments, model_path=draft, is_draft_model=True) if draft else {},
    }


def _model(arguments: Any, **which: Any) -> dict[str, Any]:
    from sglang.srt.configs.model_config import ModelConfig

    config = ModelConfig.from_server_args(arguments, **which)
    return {"dtype": str(config.dtype).removeprefix("torch."), "context": config.context_len}


def _names() -> list[str]:
    from sglang.srt.server_args import ServerArgs

    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    return sorted(name for action in parser._actions for name in action.option_strings)


def _apart(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do some work in a fork, and give its result, or the end of what it died of."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            result = work()
        except BaseException:  # noqa: BLE001 (argparse leaves by SystemExit)
            result = {"stops": traceback.format_exc()[-2000:]}
        with os.fdopen(writing, "w") as pipe:
            json.dump(result, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    result = json.loads(told or '{"stops": "the process died"}')
    return dict(result)


def main() -> None:
    import sglang.srt.configs.model_config
    import sglang.srt.server_args  # noqa: F401 (once, for all forks)

    def work(words: list[str], environment: dict[str, str]) -> dict[str, Any]:
        os.environ.update(environment)
        return _resolve(words)

    stdout = os.dup(1)
    os.dup2(2, 1)
    answers = [_apart(lambda: work(*command)) for command in json.load(sys.stdin)]  # noqa: B023 (called at once)
    with os.fdopen(stdout, "w") as out:
        out.write("\n" + json.dumps([answers, _names()]))


if __name__ == "__main__":
    main()
