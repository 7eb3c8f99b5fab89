"""A server launched for the test: real processes under the real supervisor, with the stand-in in SGLang's place."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from importlib.util import find_spec
from pathlib import Path

import pytest

from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT, embedded_target
from eagle3_contracts.evidence.server import ServerEvidence
from eagle3_contracts.subjects import Options, Subject, SubjectError
from eagle3_contracts.subjects.servers import gather, launched
from eagle3_contracts.subjects.servers.launching import LaunchPlan, RunningServer, start
from eagle3_contracts.subjects.servers.launching.plans import PORT
from eagle3_contracts.subjects.servers.launching.processes import Process, lives

SERVER = """
import os, sys, threading
from eagle3_contracts.faults.injecting.servers import StandIn, serve

asked = 0

def die(handler, route, body):
    global asked
    asked += route == "/generate"
    if asked == int(sys.argv[2]):
        print("CUDA error: device-side assert triggered", flush=True)
        os._exit(7)
    return False

with serve(StandIn(hijack=die), int(sys.argv[1])):
    threading.Event().wait()
"""


def plan(program: str, *arguments: str) -> LaunchPlan:
    command = (sys.executable, "-c", program, PORT, *arguments)
    return LaunchPlan("eagle3", "cpu", command, draft_tokens=16, stand_ins=("everything",), start_limit=120)


def examine(monkeypatch: pytest.MonkeyPatch, made: LaunchPlan) -> ServerEvidence:
    monkeypatch.delenv("PYTEST_XDIST_TESTRUNUID", raising=False)
    monkeypatch.setattr(launched, "plan_launch", lambda *_: made)
    unrecorded = load_contract(CONTRACT).model_copy(update={"name": "unrecorded"})
    return gather(unrecorded, Subject("server", "launch", "launch"), Options(target=str(embedded_target())))


def test_a_launched_server_is_examined_and_ends_with_the_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[RunningServer] = []

    def note(made: LaunchPlan) -> RunningServer:
        kept.append(start(made))
        return kept[-1]

    monkeypatch.setattr(launched, "start", note)
    evidence = examine(monkeypatch, plan(SERVER, "-1"))
    assert evidence.problems == ()
    assert (evidence.role, evidence.asked_role, evidence.stand_ins) == ("eagle3", "eagle3", ("everything",))
    assert evidence.arguments is not None
    assert evidence.arguments.asked_draft_tokens == 16
    assert all(probe.batched is not None for probe in evidence.probes)
    assert any("launched on cpu" in note for note in evidence.notes)
    (server,) = kept
    assert not server.alive()


def test_a_server_that_dies_while_it_is_asked_is_told_with_the_end_of_its_log(monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = examine(monkeypatch, plan(SERVER, "2"))
    assert [problem.kind for problem in evidence.problems] == ["truncated", "exited"]
    assert "device-side assert" in evidence.problems[1].reason
    assert [probe.alone is not None for probe in evidence.probes] == [True, False, False]


def test_a_server_that_never_answers_is_evidence_too(monkeypatch: pytest.MonkeyPatch) -> None:
    made = plan("import sys; print('no module named capture hook'); sys.exit(3)")
    evidence = examine(monkeypatch, made)
    assert [problem.kind for problem in evidence.problems] == ["exited"]
    assert "no module named capture hook" in evidence.problems[0].reason
    assert (evidence.asked_role, evidence.arguments, evidence.probes) == ("eagle3", None, ())


def test_without_a_folder_of_weights_there_is_nothing_to_launch(tmp_path: Path) -> None:
    other = load_contract(CONTRACT).model_copy(update={"name": "unrecorded"})
    for target in (None, str(tmp_path / "none")):
        with pytest.raises(SubjectError, match="no folder with the target"):
            gather(other, Subject("server", "launch:plain", "launch"), Options(target=target))


@pytest.mark.skipif(find_spec("sglang") is not None, reason="SGLang is installed here: tests/live launch it")
def test_without_sglang_the_user_is_told_what_to_install() -> None:
    with pytest.raises(SubjectError, match="SGLang is not installed"):
        gather(load_contract(CONTRACT), Subject("server", "launch", "launch"), Options())


WORKER = """
import os, sys
from eagle3_contracts.contract import load_contract
from eagle3_contracts.embedded import CONTRACT
from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects.servers import launched
from eagle3_contracts.subjects.servers.launching import LaunchPlan

program = '''
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
'''
launched.plan_launch = lambda *asked: LaunchPlan(asked[3], "cpu", (sys.executable, "-c", program, "{port}", asked[3]))
if len(sys.argv) > 1:
    with launched.hold_server(load_contract(CONTRACT), "capture", Options(target=os.getcwd()), None) as other:
        pass
    assert other.alive()
for _ in range(2):
    with launched.hold_server(load_contract(CONTRACT), "plain", Options(target=os.getcwd()), None) as server:
        print(server.url, server.supervisor.number, server.supervisor.began, flush=True)
        assert len(sys.argv) == 1 or not other.alive(), "both at once"
    assert server.alive()
"""


def test_workers_of_one_run_share_a_server_that_ends_with_the_last_of_them(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTEST_XDIST_TESTRUNUID": uuid.uuid4().hex}
    environment.pop("PYTEST_XDIST_WORKER", None)
    workers = [
        subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", WORKER], env=environment, cwd=tmp_path, stdout=subprocess.PIPE
        )
        for _ in range(2)
    ]
    said = [worker.communicate(timeout=120)[0].split() for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    for words in said:
        assert words[:3] == words[3:]
        assert not lives(Process(int(words[1]), int(words[2])))


def test_a_worker_holds_one_server_at_a_time(tmp_path: Path) -> None:
    """Two do not fit onto a device: the one that was examined ends before the next is started."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTEST_XDIST_TESTRUNUID": uuid.uuid4().hex}
    environment.pop("PYTEST_XDIST_WORKER", None)
    subprocess.run([sys.executable, "-c", WORKER, "both"], env=environment, cwd=tmp_path, check=True, timeout=120)  # noqa: S603
