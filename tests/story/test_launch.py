"""The story's first cause: a launch command that asks for 16 draft tokens and gets 2, told without the server."""

from __future__ import annotations

import json
import subprocess
import sys

from eagle3_contracts.contract import load_contract
from eagle3_contracts.findings import Verdict
from eagle3_contracts.run import check
from eagle3_contracts.subjects import Options, Subject

COMMAND = (
    "python -m sglang.launch_server --model-path moonshotai/Kimi-K2.5 --speculative-algorithm EAGLE3 "
    "--speculative-draft-model-path ./draft --speculative-num-steps 1 --speculative-num-draft-tokens 16 "
    "--speculative-eagle-topk 1"
)
KIMI = "kimi-k2.5-eagle3@2.0.0"


def test_the_storys_command_fails_with_2_of_16() -> None:
    code = "import sys; sys.modules['sglang'] = None; from eagle3_contracts.cli import main; sys.exit(main())"
    run = [sys.executable, "-c", code, "check", KIMI, "--launch", COMMAND, "--json"]
    found = subprocess.run(run, capture_output=True, text=True, check=False)  # noqa: S603
    assert found.returncode == 1, found.stderr
    failed = [item for item in json.loads(found.stdout)["findings"] if item["verdict"] == "failed"]
    (launch,) = (item for item in failed if item["stage"] == "launch")
    assert launch["clause"] == "launch.draft-tokens"
    assert launch["observed"].startswith("2 of 16 draft tokens")
    assert launch["where"]["flag"] == "--speculative-num-draft-tokens"
    assert (launch["measure"], launch["bound"]) == (2.0, 16.0)


def test_the_hint_mends_it() -> None:
    mended = COMMAND.replace("--speculative-num-steps 1", "--speculative-num-steps 15")
    contract = load_contract(KIMI)
    report = check(contract, [Subject("launch", mended, "mended")], Options())
    assert not [f for f in report.findings if f.stage == "launch" and f.verdict in {Verdict.FAILED, Verdict.ERRORED}]
