"""The drafter's embedding and head: own, borrowed, tied, and whose rows each engine embeds."""

from __future__ import annotations

from eagle3_contracts.clauses.checkpoint.files import find_config_obstacle, find_tensor_obstacle
from eagle3_contracts.clauses.checkpoint.judging import Defect, find_place, judge_engines, state
from eagle3_contracts.clauses.obstacles import Obstacle
from eagle3_contracts.consumers import Reading
from eagle3_contracts.consumers.configs import layer_table
from eagle3_contracts.contract import Contract
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Rung, Verdict, Where
from eagle3_contracts.registry import Clause

FARTHEST = 0.01
"""Relative L2 of a row from the target's; storing in bfloat16 moves one by 0.002."""


def check_tied_embeddings(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for tie_word_embeddings that is true beside a head of its own, or false where the head is the embedding."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    tops = [evidence.config, layer_table(evidence.config)]
    found = bool(next((table["tie_word_embeddings"] for table in tops if "tie_word_embeddings" in table), False))
    declared = contract.drafter.lm_head == "embedding"
    told = {
        True: f"tie_word_embeddings is true, and lm_head has {contract.drafter.draft_vocab_size:,} rows of its own",
        False: "tie_word_embeddings is false, and there is no head but the embedding",
    }
    hint = {
        True: "set it to false: SGLang takes the embedding for the head, whatever the file holds",
        False: "set it to true, or store lm_head.weight",
    }
    where = find_place(evidence, "tie_word_embeddings")
    wrong = [Defect(told[found], where, hint[found])] if found is not declared else []
    expected = f"tie_word_embeddings {str(declared).lower()} (drafter.lm_head is {contract.drafter.lm_head})"
    return state(clause, evidence, wrong, sound=f"tie_word_embeddings {str(found).lower()}", expected=expected)


def check_embedding(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for a stored embedding that is not the target's though declared so, and engines that embed other rows."""
    obstacle = find_tensor_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared, stored = contract.drafter.embedding, evidence.canonical().get("embed_tokens.weight")
    own = [] if declared == "own" else _judge_rows(clause, evidence, stored=stored is not None)

    def judge(reading: Reading) -> str:
        if reading.embedding == "random":
            return "embeds random rows: it borrows none at another width, and the file holds none"
        if declared == "own" and reading.embedding == "target":
            return "embeds the target's rows in place of the drafter's own"
        return ""

    engines = judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected="the drafter's own rows" if declared == "own" else "the target's rows",
        sound="embeds the rows that are declared",
        hint="SGLang and TensorRT-LLM keep a drafter's own embedding only if target_hidden_size differs from "
        "hidden_size; store embed_tokens.weight there",
    )
    served = [item for item in engines if item.verdict is not Verdict.SKIPPED]
    if not own and not served:
        reason = "the drafter has an embedding of its own, and the contract promises no engine"
        return [Obstacle(reason, skips=True).finding(clause, evidence.subject)]
    return own + served


def _judge_rows(clause: Clause, evidence: CheckpointEvidence, *, stored: bool) -> list[Finding]:
    expected = "the target's rows, or none"
    if not stored:
        observed = "no embedding is stored: the target lends it"
        return [clause.find(Verdict.PASSED, evidence.subject, observed=observed, expected=expected)]
    compared = evidence.embedding
    if compared is None:
        reason = "the checkpoint stores an embedding, and no target was given to hold it against"
        hint = "give the target's embedding: --contract-target DIR"
        return [clause.find(Verdict.SKIPPED, evidence.subject, observed=reason, hint=hint)]
    far, farthest = compared.distances > FARTHEST, int(compared.distances.argmax())
    sound, measure = not far.any(), float(compared.distances[farthest])
    off = (
        f"{int(far.sum())} of {len(far)} rows are not the target's, that of token {compared.ids[farthest]} "
        f"{measure:.2f} of its length away"
    )
    hint = (
        "leave embed_tokens.weight out, or copy the target's: vLLM uses what is stored, SGLang the target's, so "
        "that one file is two drafters"
    )
    return [
        clause.find(
            Verdict.PASSED if sound else Verdict.FAILED,
            evidence.subject,
            observed=f"the target's rows ({len(far)} compared)" if sound else off,
            expected=expected,
            where=Where(tensor="embed_tokens.weight"),
            rung=Rung.EMBEDDING,
            measure=measure,
            bound=FARTHEST,
            hint="" if sound else hint,
        )
    ]
