"""What each promised engine makes of a checkpoint: start, taps, fc, layers, norms, biases."""

from __future__ import annotations

from eagle3_contracts.boundaries import Tap
from eagle3_contracts.clauses.checkpoint.files import find_config_obstacle, find_tensor_obstacle
from eagle3_contracts.clauses.checkpoint.judging import Defect, find_place, judge_engines, state
from eagle3_contracts.consumers import Reading
from eagle3_contracts.consumers.configs import layer_table
from eagle3_contracts.contract import Contract
from eagle3_contracts.dialects import NotVerified, Resolution
from eagle3_contracts.evidence import CheckpointEvidence
from eagle3_contracts.findings import Finding, Verdict, Where
from eagle3_contracts.registry import Clause

_TABLE = "`eagle3-contracts explain NAME --checkpoint DIR` tells what each version reads"


def check_engine_start(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each engine of which a version does not get as far as loading this checkpoint."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    return judge_engines(
        clause,
        contract,
        evidence,
        lambda reading: reading.stops,
        expected="a form, a class and keys that every version reads",
        sound="has a class for it",
        hint="mend the key of config.json that is named, if one is; else export in the form of the engine that serves "
        "(SGLang: SpecForge's export_to_sglang), or promise another",
        stopped=True,
    )


def check_taps(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for each engine that feeds other planes, or another order, by the ids that it reads."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    wanted = tuple(Tap(plane.boundary, plane.state) for plane in contract.input_planes())
    return judge_engines(
        clause,
        contract,
        evidence,
        lambda reading: _tell_taps(reading, wanted),
        expected=f"boundaries {_say(wanted)}, in this order",
        sound=f"boundaries {_say(wanted)}",
        hint=f"set the ids that `eagle3-contracts explain {contract.reference}` prints for this engine, in the key "
        "that it reads; one list need not serve two engines",
        unverified=_tell_unverified,
    )


def _tell_unverified(reading: Reading) -> str:
    taps = reading.taps
    return f"what ids mean for {taps.architecture} is not known: {taps.reason}" if isinstance(taps, NotVerified) else ""


def _tell_taps(reading: Reading, wanted: tuple[Tap, ...]) -> str:
    taps = reading.taps
    if not isinstance(taps, Resolution) or taps.means(wanted):
        return ""
    source = f"ids {list(reading.ids)} of {reading.key}" if reading.ids is not None else "its default ids"
    over = f" (it does not read {', '.join(reading.passed_over)})" if reading.passed_over else ""
    end = "" if taps.runs else f", and {taps.outcome}: {taps.note}"
    lost = f", ignoring ids {list(taps.ignored)}" if taps.ignored else ""
    return f"{source} give boundaries {_say(taps.taps) or 'none'}{lost}{end}{over}"


def _say(taps: tuple[Tap, ...]) -> str:
    return ", ".join(f"{tap.boundary}" if tap.state in {"raw", "pre_norm"} else str(tap) for tap in taps)


def check_fc_width(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for an fc.weight of another width than the declared planes, and for engines that build another one."""
    obstacle = find_tensor_obstacle(evidence) or find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if not contract.drafter.fc.present:
        return [clause.find(Verdict.SKIPPED, evidence.subject, observed="the declared drafter has no fc")]
    planes, width = len(contract.drafter.input), contract.target.hidden_size
    stored = evidence.canonical().get("fc.weight")
    if stored is None:
        hint = "see checkpoint.tensors-present"
        return [clause.find(Verdict.ERRORED, evidence.subject, observed="there is no fc.weight", hint=hint)]
    found = stored.shape[-1] if stored.shape else 0
    where = Where(file=stored.file, tensor="fc.weight")
    hint = "the drafter was trained on another number of planes, or on another target: compare drafter.input"
    told = f"fc.weight takes {found} channels ({found / width:g} plane{'' if found == width else 's'} of {width})"
    wrong = [Defect(told, where, hint, float(found), float(planes * width))] if found != planes * width else []
    sound = f"fc.weight takes {planes} planes of {width}"
    findings = state(clause, evidence, wrong, sound=sound, expected=f"{planes} planes of {width}")

    def judge(reading: Reading) -> str:
        return f"builds fc for {reading.planes} planes" if reading.planes != planes else ""

    engines = judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected=f"fc for {planes} planes",
        sound=f"fc for {planes} planes",
        hint=f"state the ids in every place that the engine counts them in, or num_aux_hidden_states; {_TABLE}",
    )
    return findings + [item for item in engines if item.verdict is not Verdict.SKIPPED]


def check_fc_applied(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for engines that skip fc and its norms, since the captured planes are as wide as the embedding."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    if not contract.drafter.fc.present:
        return [clause.find(Verdict.SKIPPED, evidence.subject, observed="the declared drafter has no fc")]

    def judge(reading: Reading) -> str:
        if not reading.fc_skipped:
            return ""
        return f"fc and its norms are skipped, since the input is {reading.fc_input} wide, as the embedding is"

    return judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected="fc applied to the captured planes",
        sound="fc is applied",
        hint="train with more planes or another width: these engines tell captured planes from the drafter's own state "
        "by width alone",
    )


def check_layer_count(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for another num_hidden_layers than declared, and for engines that norm later layers by another norm."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    declared, where = contract.drafter.layers, find_place(evidence, "num_hidden_layers")
    found = layer_table(evidence.config).get("num_hidden_layers")
    if found is None:
        reason = "config.json states no num_hidden_layers"
        return [clause.find(Verdict.ERRORED, evidence.subject, observed=reason, where=where, hint="state it")]
    hint = "set it to the layers that were trained (SpecForge trains one, whatever it says)"
    wrong = [Defect(f"num_hidden_layers is {found}, not {declared}", where, hint)] if found != declared else []
    findings = state(clause, evidence, wrong, sound=f"num_hidden_layers {found}", expected=f"{declared}")

    def judge(reading: Reading) -> str:
        if declared == 1 or reading.later_norm == "input_layernorm":
            return ""
        return "layers after the first are normed by hidden_norm, which only the first has, not by input_layernorm"

    engines = judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected="later layers normed by input_layernorm, as they are trained",
        sound="all layers run as they are trained",
        hint="serve drafters of several layers with vLLM, or train one layer",
    )
    return findings + [item for item in engines if item.verdict is not Verdict.SKIPPED]


_NORMS = {
    "residual_post_norm": (
        "adds back the state before hidden_norm",
        "adds back the state after hidden_norm (norm_before_residual)",
    ),
    "joint_norm": ("norms no planes before fc", "norms all planes as one before fc (norm_before_fc)"),
    "plane_norms": ("norms no plane by itself", "norms each plane by itself (fc_norm)"),
    "recurrent_post_norm": ("hands on the state before its norm", "hands on the state after its norm (norm_output)"),
}
"""By feature: what an engine without it does, and with it."""


def check_norm_flags(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for engines that norm the input of fc, the residual or the next step's state otherwise than declared."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    drafter = contract.drafter
    asked = {
        "residual_post_norm": drafter.residual == "post_norm",
        "joint_norm": drafter.fc.input_norm == "joint",
        "plane_norms": drafter.fc.input_norm == "per_plane",
        "recurrent_post_norm": drafter.recurrent == "post_norm",
    }
    gqa = drafter.attention.kind == "gqa" and drafter.attention.qk_norm

    def judge(reading: Reading) -> str:
        told = [_NORMS[feature][not on] for feature, on in asked.items() if on is not (feature in reading.features)]
        if gqa is not reading.qk_norm:
            told.append("norms no queries and keys" if gqa else "norms queries and keys")
        flags = ", ".join(reading.flags_ignored)
        return ", ".join(told) + (f" (flags that it does not read: {flags})" if told and flags else "")

    on = [_NORMS[feature][1] for feature, wanted in asked.items() if wanted]
    return judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected=", ".join(on) or "no norm but the layer's own and the one before lm_head",
        sound="norms where the contract does",
        hint=f"set the flag where this engine reads it, or serve versions that know it; {_TABLE}",
    )


def check_bias_flags(clause: Clause, contract: Contract, evidence: CheckpointEvidence) -> list[Finding]:
    """Fail for engines with a bias in fc or attention where the declared drafter has none, or none where it has one."""
    obstacle = find_config_obstacle(evidence)
    if obstacle is not None:
        return [obstacle.finding(clause, evidence.subject)]
    drafter, gqa = contract.drafter, contract.drafter.attention.kind == "gqa"
    wanted = {
        "fc_bias": (drafter.fc.bias, "bias in fc"),
        "qkv_bias": (gqa and drafter.attention.bias, "bias on queries, keys and values"),
        "o_bias": (gqa and drafter.attention.bias, "bias in o_proj"),
    }

    def judge(reading: Reading) -> str:
        return ", ".join(
            f"has {'no' if on else 'a'} {words}"
            for feature, (on, words) in wanted.items()
            if on is not (feature in reading.features)
        )

    return judge_engines(
        clause,
        contract,
        evidence,
        judge,
        expected=", ".join(f"a {words}" for on, words in wanted.values() if on) or "no bias",
        sound="biases where the contract has them",
        hint="`bias` gives fc one in SGLang and TensorRT-LLM, and o_proj as well in SGLang and vLLM; `attention_bias` "
        f"never reaches q, k and v in SGLang: {_TABLE}",
    )
