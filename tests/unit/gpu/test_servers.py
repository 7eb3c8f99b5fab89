"""What a server says of its graphs: its arguments, and the steps in its log. Both texts are made up after 0.5.23's."""

from __future__ import annotations

import pytest

from eagle3_contracts.evidence.server import ServerArguments, ServerEvidence
from support.gpu.servers import count_steps, graphs_of

LOG = """
[2000-01-01 00:00:00] Prefill batch, #new-seq: 1, #new-token: 9, cuda graph: False, input throughput (token/s): 1.0
[2000-01-01 00:00:01] Decode batch, #running-req: 1, #token: 16, accept len: 3.10, cuda graph: True, #queue-req: 0
[2000-01-01 00:00:02] Decode batch, #running-req: 1, #token: 20, cuda graph: True, #queue-req: 0
[2000-01-01 00:00:03] Decode batch, #running-req: 9, #token: 90, cuda graph: False, #queue-req: 0
"""


def test_steps_of_decoding_alone_are_counted() -> None:
    assert count_steps(LOG) == (2, 1)
    assert count_steps("Decode batch, #running-req: 8, cpu graph: False, #queue-req: 0") == (0, 0)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ({"decode": {"backend": "full", "bs": [1]}, "prefill": {"backend": "disabled"}}, True),
        (None, False),
        ("full", False),
        ({"decode": None}, False),
    ],
)
def test_the_backends_are_read_or_not_known(said: object, known: bool) -> None:  # noqa: FBT001
    found = graphs_of(ServerEvidence("s", arguments=ServerArguments({"cuda_graph_config": said})))
    assert found == ({"decode": "full", "prefill": "disabled"} if known else {})
