"""Runs reproducers in one process in which this project cannot be imported: ``python -I run_reproducers.py FOLDER``.

Prints JSON: by file name, the exit codes and outputs without arguments and with ``--sound``.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import json
import runpy
import sys
import traceback
from pathlib import Path


class Refuse(importlib.abc.MetaPathFinder):
    """Finds no module of this project, even where it is installed."""

    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname.partition(".")[0] == "eagle3_contracts":
            raise ModuleNotFoundError(f"{fullname} is hidden here")


def run_once(path: Path, *arguments: str) -> tuple[object, str]:
    out = io.StringIO()
    sys.argv = [str(path), *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as stopped:
            return stopped.code, out.getvalue()
        except Exception:  # noqa: BLE001 (told as it is)
            return "raised", out.getvalue() + traceback.format_exc()
    return "fell through", out.getvalue()


if __name__ == "__main__":
    sys.meta_path.insert(0, Refuse())
    paths = sorted(Path(sys.argv[1]).glob("*.py"))
    told = {path.stem: [run_once(path), run_once(path, "--sound")] for path in paths}
    told["imported"] = [[name for name in sys.modules if name.startswith("eagle3_contracts")]]  # type: ignore[list-item]
    sys.stdout.write(json.dumps(told))
