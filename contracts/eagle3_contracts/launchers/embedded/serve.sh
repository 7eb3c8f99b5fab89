#!/bin/sh
# The launch command of the embedded default: what a sound one looks like for tiny-llama-eagle3. It is read, never run.
exec python3 -m sglang.launch_server \
    --model-path eagle3-contracts/tiny-llama \
    --dtype bfloat16 \
    --context-length 2048 \
    --speculative-algorithm EAGLE3 \
    --speculative-draft-model-path ./drafter \
    --speculative-num-steps 3 \
    --speculative-eagle-topk 1 \
    --speculative-num-draft-tokens 4
