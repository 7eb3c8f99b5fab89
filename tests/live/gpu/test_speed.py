"""Speed with speculation against without, in one run: measured and written down, and no figure is demanded."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.gpu.record import Record
from support.gpu.servers import Examined
from support.gpu.speed import REQUESTS, measure_speed

pytestmark = [pytest.mark.live, pytest.mark.gpu]


@pytest.mark.parametrize("requests", REQUESTS)
def test_both_give_the_same_number_of_tokens_and_drafts_are_accepted(
    examined: Mapping[str, Examined], record: Record, requests: int
) -> None:
    drafting, plain = examined["eagle3"], examined["plain"]
    assert drafting.server is not None, "the drafting server did not start"
    assert plain.server is not None, "the plain server did not start"
    prompts = [probe.token_ids for probe in drafting.evidence.probes]
    assert prompts, "the drafting server was not probed"
    record.speed[requests] = measure_speed(drafting.server.url, plain.server.url, prompts, requests)
