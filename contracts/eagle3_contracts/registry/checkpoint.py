"""The ``checkpoint.*`` clauses: exported drafters, and what each engine will make of them."""

from eagle3_contracts.findings import Level
from eagle3_contracts.registry.clause import Clause

CHECKPOINT = (
    Clause(
        "checkpoint.safe",
        Level.MUST,
        "Every file holds tensors and plain values only, and names nothing outside its folder.",
        "EAGLE's own releases are .bin files, which a loader without weights_only unpickles; a pickle may run code.",
    ),
    Clause(
        "checkpoint.readable",
        Level.MUST,
        "config.json and every file of weights can be read to their end, and no tensor stands in two of them.",
        "A copy that was cut off, or a shard left behind, is loaded by engines that report only what is unexpected.",
    ),
    Clause(
        "checkpoint.form",
        Level.MUST,
        "The folder has one form that a trainer writes.",
        "vllm-project/speculators issue #1114: a key that no table renames leaves random weights behind.",
    ),
    Clause(
        "checkpoint.declaration",
        Level.MUST,
        "What the files say of the contract that they were made by is what this contract says.",
        "SpecForge 0.2.0 does not export the ids of its run, speculators 0.4 exports none: the layout a drafter was "
        "trained on is lost unless something beside the weights says it.",
    ),
    Clause(
        "checkpoint.tensors-present",
        Level.MUST,
        "Every tensor that the drafter consists of is there, or the target lends it.",
        "sglang issue #27829: no lm_head in the file, a random one served with HTTP 200 and accept length 1.00; vLLM "
        "and EAGLE's own loader are as silent.",
    ),
    Clause(
        "checkpoint.tensors-read",
        Level.MUST,
        "No tensor is there that the declared drafter does not read.",
        "sglang issue #32226: input_norm.weight in the file, and nothing that applies it; EAGLE issue #100: fc.bias.",
    ),
    Clause(
        "checkpoint.shapes",
        Level.MUST,
        "Every tensor has the shape that the declared drafter has, and config.json describes that layer.",
        "vLLM issues #18906 and #19174: the drafter's width taken for the target's.",
    ),
    Clause(
        "checkpoint.dtypes",
        Level.MUST,
        "Weights are stored in the declared dtype and quantised by no method, and d2t is stored in integers.",
        "vLLM issue #55250: a bfloat16 drafter served in float16 drafts nothing that is accepted; vLLM PR #28435: "
        "scales of a quantised fc that no layer read.",
    ),
    Clause(
        "checkpoint.fc-width",
        Level.MUST,
        "fc takes as many planes as are declared, in the file and in every engine that will read it.",
        "vLLM issue #54526, sglang PR #24663: ids at one place, the width of fc read from another, else 3.",
    ),
    Clause(
        "checkpoint.fc-applied",
        Level.MUST,
        "Every engine that will read it applies fc and its norms to the captured planes.",
        "SGLang applies fc only if the input is not as wide as the embedding (models/llama_eagle3.py, forward).",
    ),
    Clause(
        "checkpoint.d2t-reading",
        Level.MUST,
        "d2t holds what the contract says: offsets from draft id to target id, or the ids themselves.",
        "verl-SpeCo PR #67: ids in place of offsets double every id; every engine adds the draft id.",
    ),
    Clause(
        "checkpoint.d2t-ids",
        Level.MUST,
        "The target ids of the draft vocabulary rise strictly, and all lie in the target's vocabulary.",
        "vLLM issue #34583, mblt-model-zoo PR #110: negative and too large ids are read out of bounds.",
    ),
    Clause(
        "checkpoint.draft-vocabulary",
        Level.MUST,
        "The draft vocabulary is chosen from all of the target's, not its first ids.",
        "NVIDIA-NeMo/Automodel PR #2447: without d2t in the file, vLLM takes the first ids in silence.",
    ),
    Clause(
        "checkpoint.t2d-agrees",
        Level.MUST,
        "t2d marks exactly the ids that d2t leads to.",
        "EAGLE issues #222 and #248: as many marks as another vocabulary has.",
    ),
    Clause(
        "checkpoint.vocabulary-size",
        Level.MUST,
        "d2t, lm_head and draft_vocab_size of config.json have the declared size.",
        "EAGLE issue #248: 1,746 marks against 32,000 rows of lm_head.",
    ),
    Clause(
        "checkpoint.special-tokens",
        Level.SHOULD,
        "The draft vocabulary holds the ends of text and the byte tokens.",
        "A frequency list from a small corpus dropped 90 byte tokens, and the deployment was rolled back (FlashNext "
        "PR #43).",
    ),
    Clause(
        "checkpoint.engine-start",
        Level.MUST,
        "Every engine that will read it knows its class and form, and starts.",
        "SGLang reads no config of speculators' form; a class that an engine lacks stops it, or loads another one.",
    ),
    Clause(
        "checkpoint.taps",
        Level.MUST,
        "Every engine that will read it feeds the declared planes, in the declared order.",
        "sglang PR #25454, llama.cpp PR #27040: ids in a place or a dialect that the engine reads otherwise, and its "
        "own default instead.",
    ),
    Clause(
        "checkpoint.engine-tensors",
        Level.MUST,
        "Every engine that will read it takes every tensor, applies it, and finds all that it needs.",
        "SGLang drops what it has no parameter for and leaves empty what it finds no tensor for, both without a word; "
        "vLLM refuses the one and is silent about the other.",
    ),
    Clause(
        "checkpoint.norm-flags",
        Level.MUST,
        "Every engine that will read it norms where the declared drafter does.",
        "vLLM PR #42143, TensorRT-LLM PR #14988: three norms under similar names, each flag in a place of its own.",
    ),
    Clause(
        "checkpoint.bias-flags",
        Level.MUST,
        "Every engine that will read it has biases where the declared drafter has.",
        "EAGLE issue #100, TensorRT-LLM issue #2588, vLLM issue #11126: fc.bias by a default that differs.",
    ),
    Clause(
        "checkpoint.layer-count",
        Level.MUST,
        "config.json says as many layers as are declared, and every engine that will read it runs them all alike.",
        "SpecForge trains one layer whatever num_hidden_layers says; SGLang norms later layers by hidden_norm.",
    ),
    Clause(
        "checkpoint.rope",
        Level.MUST,
        "The config's rotary positions are those that the drafter was trained with, for every engine.",
        "SpecForge issue #265 and PR #702: base 10000 whatever rope_theta says, and again where transformers 5 moved "
        "it; TensorRT-LLM PR #19036: half-split for an interleaved drafter, accept length 1.012.",
    ),
    Clause(
        "checkpoint.positions",
        Level.MUST,
        "max_position_embeddings is the declared number, and reaches the context that is served.",
        "Served past its rotary range a drafter is accepted less and less, without a word.",
    ),
    Clause(
        "checkpoint.tied-embeddings",
        Level.MUST,
        "tie_word_embeddings is set exactly if the drafter's head is its embedding.",
        "SpecForge issue #139: true, copied from the target, with a smaller draft vocabulary; TensorRT-LLM PR #9607.",
    ),
    Clause(
        "checkpoint.embedding",
        Level.MUST,
        "The embedding is the target's where it is declared so, and every engine embeds the rows that are declared.",
        "TorchSpec issue #38: an embedding never trained was exported, which SGLang replaces and vLLM uses.",
    ),
    Clause(
        "checkpoint.fresh-tensors",
        Level.SHOULD,
        "No tensor has the values of an initialisation that nothing trained.",
        "speculators issue #1114, PR #1131: random weights where a key was not renamed, and a converter that says "
        "success.",
    ),
    Clause(
        "checkpoint.dead-tensors",
        Level.MUST,
        "Every tensor moves the logits when it is changed.",
        "charlie12345/ROCmFPX issue #44: a norm that was loaded and never applied, acceptance 0.277.",
    ),
    Clause(
        "checkpoint.finite",
        Level.MUST,
        "No weight is NaN, infinite, or beyond what the target's dtype holds.",
        "vLLM issue #55250: weights beyond float16's range, not finite on the first step.",
    ),
    Clause(
        "checkpoint.drafted-tokens",
        Level.MUST,
        "The drafter drafts the tokens that were recorded with the trained weights.",
        "NVIDIA-NeMo/RL PR #2802: a layout lost in import and export alike passes every round trip, and no forward.",
    ),
)
