"""What a server can run on here, and why not on a GPU.

Standard library only and without any import of the package: run as a program it is what ``tox -e gpu`` asks before it
installs anything. It then says in one sentence why there is no CUDA device, and ends with status 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

TOOL = "nvidia-smi"
VISIBLE = "CUDA_VISIBLE_DEVICES"


def device_here() -> str:
    """Tell what a server can run on here: ``cuda`` if a driver lists a device, else ``cpu``. Imports no torch."""
    return "cpu" if why_no_cuda() else "cuda"


def why_no_cuda() -> str:
    """Say why there is no CUDA device; nothing where there is one."""
    hidden = os.environ.get(VISIBLE)
    if hidden is not None and hidden.strip() in {"", "-1"}:
        return f"{VISIBLE}={hidden!r} hides every device"
    tool = shutil.which(TOOL)
    if tool is None:
        return f"{TOOL}, which comes with the driver, is not on PATH"
    try:
        listed = subprocess.run([tool, "-L"], capture_output=True, timeout=20, check=False).stdout  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{TOOL} -L did not run to its end ({type(error).__name__})"
    return "" if b"GPU " in listed else f"{TOOL} -L lists no device"


def tell_absence() -> str:
    """Say in one sentence that the tests on a GPU cannot run here; nothing where they can."""
    why = why_no_cuda()
    return f"No CUDA device: {why}; the tests on a GPU need one, so nothing was checked." if why else ""


if __name__ == "__main__":
    sys.exit(tell_absence() or 0)
