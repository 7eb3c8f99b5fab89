"""Files for SGLang's --config: the words that each becomes, and those that are left unread."""

from __future__ import annotations

READ: dict[str, list[str]] = {
    "": [],
    "---\n# nothing\n": [],
    "tp: 2\n": ["--tp", "2"],
    "tp: -1\nmem-fraction-static: 0.85\n": ["--tp", "-1", "--mem-fraction-static", "0.85"],
    "model_path: ./draft # here\n": ["--model_path", "./draft"],
    "enable-metrics: true\ntrust-remote-code: off\n": ["--enable-metrics"],
    'json-model-override-args: {"a": 1}\n': ["--json-model-override-args", '{"a": 1}'],
    "speculative-algorithm: 'EAGLE3'\ndtype: \"a # b\"\n": ["--speculative-algorithm", "EAGLE3", "--dtype", "a # b"],
    "x-y:\n- a\n- 1\n": ["--x-y", "a", "1"],
    'x-y: [a, "b", true]\n': ["--x-y", "a", "b", "True"],
    "x-y: []\n": [],
    "x-y: yes\n": ["--x-y", "true"],
}
"""Text of a file to what comes of it."""

UNREAD = [
    "tp: 010\n",
    "tp: 1_000\n",
    "tp: 1e3\n",
    "tp: null\n",
    "tp:\n",
    "tp: -0\n",
    "tp:\t2\n",
    "tp: 1\ntp: 2\n",
    "x: 'True'\n",
    "x: 2024-01-01\n",
    "x: a:b\n",
    "x: a b\n",
    "x: |\n  text\n",
    "x: *anchor\n",
    "x: {a: 1}\n",
    "x: [a\n",
    "x:\n  k: v\n",
    "- a\n",
    'x: "a\\nb"\n',
    "lora-paths: a\n",
]
"""Texts that have several levels, that YAML's versions read differently, or that the server refuses."""
