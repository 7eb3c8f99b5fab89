"""The program of a stand-in: it serves on a port until it is interrupted, or says in one line why it does not."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from eagle3_contracts.faults.injecting.servers.serving import StandIn, serve

_MOST = 65_535
_USAGE = f"usage: python serve.py [PORT]   (0 to {_MOST}; 0 takes a free one)"


def run_server(make: Callable[[], StandIn], arguments: Sequence[str], port: int, prefix: str = "") -> int:
    """Serve on the port that the arguments name, or on ``port``; give the exit code.

    ``prefix``: what ``check --server`` wants ahead of the URL of such a server.
    """
    if list(arguments) in (["-h"], ["--help"]):
        sys.stdout.write(f"{_USAGE}\n")
        return 0
    if arguments:
        if len(arguments) > 1 or not re.fullmatch("[0-9]{1,5}", arguments[0]) or int(arguments[0]) > _MOST:
            sys.stderr.write(f"serve.py: {' '.join(arguments)!r} is no port; {_USAGE}\n")
            return 2
        port = int(arguments[0])
    stand_in = make()
    with ExitStack() as stack:
        try:
            url = stack.enter_context(serve(stand_in, port))
        except OSError as error:
            sys.stderr.write(
                f"serve.py: port {port} of 127.0.0.1 cannot be had ({error.strerror}); another one: "
                f"python serve.py PORT, and then eagle3-contracts check ... --server {prefix}http://127.0.0.1:PORT\n"
            )
            return 2
        sys.stdout.write(f"listening on {url}\n")
        sys.stdout.flush()
        _wait()
    return 0


def _wait() -> None:
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        pass
