"""The numbers that verdicts rest on beside the contract's tolerances, each with its measurement.

Measured on SmolLM2-135M (30 layers, English prose in sequences of 60 to 1,000 tokens, float32 and bfloat16) and
on the embedded tiny-llama (8 layers, 220 tokens); ``tests/unit/clauses/test_bounds.py`` measures the latter anew.
"""

from __future__ import annotations

SEPARATION = 3.0
"""How much nearer than every rival a candidate must be. SmolLM2 in bfloat16: a correct plane is within 0.0145 of
its boundary and at least 0.203 from each neighbour, a factor of 14. The embedded target: 0.0017 and 0.238."""

UNLIKE = 0.5
"""Relative L2 from which a plane is no noisy copy of a boundary but something else. bfloat16 noise reaches 0.015
in the median, fp8 with scales 0.04; unrelated states of equal norm are at 1.4, states without scale above 0.8."""

LEAST_TOKENS = 64
"""Rows below which a median over tokens decides nothing (DESIGN: at least 64, sinks not counted)."""

ROW_FACTOR = 10.0
"""How many tolerances of the median a single row may differ by when one request is run twice. SmolLM2 alone
against padded: at most 2e-6 in float32 and 0.023 in bfloat16, below one tolerance; bfloat16 against float32 reaches
0.23 at single rows, 7.7 tolerances. A row of another request differs by 0.5 and more."""

EMBEDDING_SHARE = 0.9
"""Share of repeated tokens with bit-identical rows from which a plane is an embedding (measured: 1.0 exactly)."""

CONTEXT_SHARE = 0.5
"""Share up to which it is not. Measured: 0 on text; up to 0.94 inside a sample that repeats one token from its
start, where attention mixes equal values only, so that a few such samples in a dataset must do no harm."""

LEAST_PAIRS = 8
"""Pairs of repeated tokens below which the share decides nothing."""

NORMED = (0.9, 1.1)
"""Where the median of rms(row / weight) lies after the final norm (measured: 0.998 to 1.002)."""

NOT_NORMED = (0.5, 2.0)
"""Outside this range a state has not been through the final norm. SmolLM2 before it: 21.3 to 24.3; the
embedded target: 3.77."""

NLL_MARGIN = 0.5
"""Nats per token by which one reading of the final state must beat the others when the target's own logits are
not at hand. SmolLM2: the right reading 3.3 to 4.0, the norm applied twice 10 to 13, not at all 450 to 590.
The embedded target, whose norm weights are even: 0.694, 0.722 and 1.55, too near to tell by text."""

LEAST_CHOICES = 16
"""Greedy choices that are clear below which two texts say nothing: one wrong token in twenty would be missed more
often than not (chosen)."""

LEAST_ROUNDS = 30
"""Rounds of drafting and verification below which shares of them decide nothing (chosen: at 30 one round is 3 %)."""

ACCEPTANCE_SHARE = 0.1
"""Share of rounds that may accept another number of tokens below float32 than a simulation in float32 says. SGLang
0.5.23 in bfloat16 on a CPU with the embedded drafter: 3.3 % of 55 rounds, where one round is 1.8 %. It sees gross
losses only (a wrong recurrence: 63 %): wrong planes of the embedded default reach 4.9 to 12.6 %, and are decided on
tensors."""

SURE = 3.09
"""Standard deviations of a difference of two shares from which chance is out of the question (one-sided, 1e-3)."""

FIRST_ACCEPTED = 0.05
"""Share of first positions accepted below which no sound drafter was seen, where nothing is predicted. SmolLM2: right
wiring 0.405, wrong planes and orders 0.03 to 0.26, d2t misread 0.002. An under-trained drafter may be as low as a
mis-wired one, so only what hardly ever fits is a finding."""

STEEPEST = 0.25
"""How much of the first position's share the second must keep, where nothing is predicted (chosen). Measured: 0.82 for
SmolLM2's drafter (0.331 after 0.405), 1.03 for the embedded one; 0.26 where three in four are handed on wrong."""
