"""Consumers: how each engine that serves drafters reads a checkpoint, as data, by version and drafter class.

``dialects`` says what a list of ids means; this says which key it is read from, how wide fc is built and whether it is
applied, which flags, norms and biases are honoured, how tensors are renamed, and which are dropped without a word.
``read_checkpoint`` applies all of it to a config and tensor names; nothing of an engine is imported.
"""

from eagle3_contracts.consumers.consumer import Consumer
from eagle3_contracts.consumers.reading import Reading, Stored, is_harmless, read_checkpoint, read_range
from eagle3_contracts.consumers.ropes import RopeReading, read_rope, rope_of_contract
from eagle3_contracts.consumers.table import CONSUMERS, ENGINES, runners_of

__all__ = [
    "CONSUMERS",
    "ENGINES",
    "Consumer",
    "Reading",
    "RopeReading",
    "Stored",
    "is_harmless",
    "read_checkpoint",
    "read_range",
    "read_rope",
    "rope_of_contract",
    "runners_of",
]
