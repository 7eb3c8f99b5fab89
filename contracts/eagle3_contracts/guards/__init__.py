"""Guards: the contract held where there is nothing to look at from outside, inside a server and inside a trainer.

``sglang_plugin`` is loaded by SGLang itself (entry-point group ``sglang.srt.plugins``) and does nothing unless
EAGLE3_CONTRACT_GUARD names a contract. ``guard(batch, contract)`` is called by a training script on its first batch.
"""

from eagle3_contracts.guards.refusal import GuardError
from eagle3_contracts.guards.trainer import guard

__all__ = ["GuardError", "guard"]
