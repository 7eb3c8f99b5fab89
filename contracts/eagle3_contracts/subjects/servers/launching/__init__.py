"""Launching: start a server for a test, share it among the workers of a run, and leave none behind.

``plan_launch`` says what to start, ``start`` starts it, ``share`` starts it once for all workers of a run. The server
lives in a process group of its own under a supervisor (``supervisor.py``), which ends it when none of the processes
that asked for it lives any more, however they died. SGLang alone is launched, from the Python that runs the tests.
"""

from eagle3_contracts.subjects.servers.launching.device import device_here
from eagle3_contracts.subjects.servers.launching.plans import STAND_IN, LaunchPlan, plan_launch
from eagle3_contracts.subjects.servers.launching.running import NotStartedError, RunningServer, share, start

__all__ = [
    "STAND_IN",
    "LaunchPlan",
    "NotStartedError",
    "RunningServer",
    "device_here",
    "plan_launch",
    "share",
    "start",
]
