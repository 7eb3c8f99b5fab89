"""Faults of the connection: what comes back is no answer, or none that ends."""

from eagle3_contracts.faults.catalogue.server.making import ANSWERS, fault
from eagle3_contracts.faults.fault import Fault, Kind

_CONNECTION = (
    ("hangs", "It takes the request and never answers.", "huggingface/trl issue #6973"),
    (
        "drips",
        "The answer comes byte by byte, each in time.",
        "RFC 9112, 9.5: no timeout is promised, to a whole answer either",
    ),
    (
        "drips-headers",
        "The answer's head comes byte by byte.",
        "RFC 9112, 9.5: no timeout is promised, to a whole answer either",
    ),
    ("crashes-halfway", "Its process is killed while it answers.", "snowflakedb/ArcticInference issue #60"),
    ("closes-without-answer", "The connection is closed before an answer.", "huggingface/trl issue #3347"),
    ("answers-500", "It answers with an error of its own.", "vllm-project/vllm issue #10234"),
    ("answers-html", "A sign-in page of something before it answers 200.", "RFC 9110, 8.3: content type"),
    ("answers-html-as-json", "The same, and it says that it is JSON.", "RFC 8259"),
    ("wants-a-key", "It wants a key that was not given.", "RFC 9110, 15.5.2"),
    ("redirects", "It sends the client, and what the client sends along, elsewhere.", "RFC 9110, 15.4.8"),
    ("babbles", "Something else than HTTP listens there.", "RFC 9112, 2.2"),
    ("answers-nothing", "It answers 200 with nothing.", "RFC 8259"),
    ("truncates-json", "The JSON ends in the middle.", "RFC 8259"),
    ("announces-too-much", "Less comes than is announced.", "RFC 9112, 8: incomplete messages"),
    ("announces-too-little", "More comes than is announced.", "RFC 9112, 6.3"),
    ("announces-terabytes", "An answer of a terabyte is announced.", "RFC 9112, 6.3"),
    ("streams-without-end", "The answer comes in chunks without an end.", "RFC 9112, 7.1"),
    (
        "answers-nan",
        "NaN stands in the JSON.",
        "same kind: sgl-project/sglang issue #5984, NaN that JSON has no word for",
    ),
    ("answers-huge-number", "A number of 50,000 digits stands in the JSON.", "RFC 8259, 6"),
    ("nests-deep", "The JSON is nested 200,000 deep.", "RFC 8259, 9"),
    ("nests-halfway", "The JSON is nested 100 deep.", "RFC 8259, 9"),
    ("repeats-keys", "A key stands twice in the JSON.", "RFC 8259, 4"),
    ("answers-other-types", "Text stands where numbers should, and numbers where text should.", "RFC 8259, 3"),
    ("answers-a-list", "A list of numbers comes where a table should.", "RFC 8259, 3"),
    ("answers-latin-1", "The JSON is no UTF-8.", "RFC 8259, 8.1"),
)

CONNECTION_FAULTS: tuple[Fault, ...] = tuple(
    fault(name, Kind.RUNTIME, "reachable", mechanism, source, unchecked=ANSWERS)
    for name, mechanism, source in _CONNECTION
)
