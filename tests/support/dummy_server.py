"""A server in place of an engine, for tests of how servers are started and ended: real processes, a real socket.

``python dummy_server.py --port N [--leave NAME] [--child] ...``; see ``parse``. It writes the numbers of all its
processes into the file that ``--list`` names.
"""

# ruff: noqa: T201 - what a server prints is part of the test

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SLEEP = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


class Healthy(BaseHTTPRequestHandler):
    """Answer everything with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name that http.server gives it)
        """Say nothing."""


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--list", type=Path, required=True)
    parser.add_argument("--children", action="store_true", help="two that ignore SIGTERM, one in a session of its own")
    parser.add_argument("--deaf", action="store_true", help="never listen")
    parser.add_argument("--end", type=int, help="print a message and end with this status")
    parser.add_argument("--say", default="", help="what to print at the start")
    parser.add_argument("--lines", type=int, default=0, help="print as many numbered lines")
    parser.add_argument("--hold", type=int, default=0, help="bytes of memory to fill")
    parser.add_argument("--taken", type=int, default=0, help="find the port taken at the first so many starts")
    return parser.parse_args()


def main() -> None:
    asked = parse()
    starts = len(asked.list.read_text(encoding="ascii").split()) if asked.list.exists() else 0
    processes = [os.getpid()]
    if asked.children:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for apart in (False, True):
            child = subprocess.Popen([sys.executable, "-c", SLEEP], start_new_session=apart)  # noqa: S603
            processes.append(child.pid)
    with asked.list.open("a", encoding="ascii") as file:
        file.write("".join(f"{number}\n" for number in processes))
    print(asked.say, flush=True)
    for line in range(asked.lines):
        print(f"line {line} ".ljust(1000, "."), flush=True)
    held = bytearray(os.urandom(1 << 20)) * (asked.hold >> 20)
    if starts < asked.taken:
        print("[Errno 98] Address already in use", flush=True)
        sys.exit(1)
    if asked.end is not None:
        sys.exit(asked.end)
    if asked.deaf:
        time.sleep(600)
    ThreadingHTTPServer(("127.0.0.1", asked.port), Healthy).serve_forever()
    del held


if __name__ == "__main__":
    main()
