"""How often a share of bad files is among those that are read by default, and held against the target."""

from __future__ import annotations

import random
from collections.abc import Sequence

from eagle3_contracts.subjects import Options
from eagle3_contracts.subjects.datasets.sampling import pick_probes, sample_evenly

FILES, DRAWS = 10_000, 400
SHARES: Sequence[float] = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5)


def find_chances(share: float, *, contiguous: bool) -> tuple[float, float]:
    """Give how often a share of bad files is among those read by default, and among those held against the target.

    By drawing: bad files anywhere in 10,000 of equal length, or in one stretch as when a capture went wrong half-way.
    """
    defaults, seen, probed = Options(), 0, 0
    for seed in range(DRAWS):
        bad = _draw_bad(random.Random(seed), share, contiguous=contiguous)  # noqa: S311 - no secret
        read = sample_evenly(range(FILES), defaults.sampled_files, seed)
        probes = pick_probes([512] * len(read), defaults.probes, seed, 64)
        seen += any(file in bad for file in read)
        probed += any(read[place] in bad for place in probes)
    return seen / DRAWS, probed / DRAWS


def _draw_bad(chance: random.Random, share: float, *, contiguous: bool) -> frozenset[int]:
    count = max(1, round(FILES * share))
    if not contiguous:
        return frozenset(chance.sample(range(FILES), count))
    first = chance.randrange(FILES - count + 1)
    return frozenset(range(first, first + count))
