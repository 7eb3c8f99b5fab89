"""Hold a real server until killed: ``python killed_user.py FLAGS...`` prints its URL and its supervisor's number."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_subjects, embedded_target
from eagle3_contracts.subjects.servers.launching import plan_launch, start

if __name__ == "__main__":
    drafters = [Path(item.value) for item in embedded_subjects() if item.stage == "checkpoint"]
    plan = plan_launch(
        load_contract(CONTRACT), embedded_target(), drafters[0], "eagle3", device="cpu", flags=sys.argv[1:]
    )
    server = start(plan)
    sys.stdout.write(json.dumps({"url": server.url, "supervisor": server.supervisor.number}) + "\n")
    sys.stdout.flush()
    time.sleep(900)
