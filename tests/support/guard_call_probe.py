"""A plugin of SGLang for these tests: counts Python calls of a scheduler's loop, and those into eagle3_contracts.

Installed beside the guard by ``conftest.py``. It writes both counts into the file that GUARD_CALL_PROBE names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

EVERY = 2_000
SCHEDULER = "sglang.srt.managers.scheduler"


def register() -> None:
    """Start counting where the loop of a scheduler starts, in a scheduler alone."""
    if SCHEDULER not in sys.modules or "GUARD_CALL_PROBE" not in os.environ:
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    HookRegistry.register(f"{SCHEDULER}.Scheduler.run_event_loop", _start, HookType.BEFORE)


def _start(*_: Any, **__: Any) -> None:
    counts = {"all": 0, "guard": 0, "forward": 0}
    path = Path(os.environ["GUARD_CALL_PROBE"])

    def count(frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        counts["all"] += 1
        counts["guard"] += "eagle3_contracts" in frame.f_code.co_filename
        counts["forward"] += frame.f_code.co_name == "forward_batch_generation"
        if counts["all"] % EVERY == 0:
            path.write_text(" ".join(f"{name}={value}" for name, value in counts.items()), encoding="utf-8")

    sys.setprofile(count)
