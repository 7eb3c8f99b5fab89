"""The command line: ``eagle3-contracts COMMAND``.

Exit codes, the first that applies: 2 usage, a broken contract, or a subject that is not there; 1 a violated must;
3 something could not be checked; 0 otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from eagle3_contracts import __version__
from eagle3_contracts.commands import COMMANDS

USAGE, INTERRUPTED, BROKEN_PIPE = 2, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code; what the user can mend is told in a sentence, without a traceback."""
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away; the interpreter's own flush at exit must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        message = _explain(error)
        if message is None:
            raise
        sys.stderr.write(f"eagle3-contracts: {message}\n")
        return USAGE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="eagle3-contracts",
        description="Contracts for the hidden states of EAGLE-3 drafters.",
        epilog="exit codes: 0 all is well, 1 a must is violated, 2 usage or a broken contract, 3 not all was checked",
    )
    parser.add_argument("--version", action="version", version=f"eagle3-contracts {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, (module, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary)
        source = import_module(f"eagle3_contracts.commands.{module}")
        source.add_arguments(name, command)
        command.add_argument("--json", action="store_true", help="print JSON")
        command.set_defaults(run=source.run, command=name)
    return parser


def _explain(error: Exception) -> str | None:
    """Say what the user can mend; None for a defect of this program, which shows its traceback.

    An error of this project that knows a remedy is the user's to mend: a contract, a subject, a recording.
    """
    from eagle3_contracts.reports.terminal import plain
    from eagle3_contracts.testing.settings import SettingError

    if isinstance(error, SettingError) or hasattr(error, "remedy"):
        return plain(str(error))
    if isinstance(error, OSError):
        place = f"{error.filename}: " if error.filename else ""
        return plain(f"{place}{error.strerror or error}")
    return None
