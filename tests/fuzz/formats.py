"""Texts in the formats that schemas of the API name, as strategies of Hypothesis.

Most are short and drawn from few, so that things often have the name that another request used.
"""

import random
import string

from hypothesis import strategies as st
from tests.property.random_expressions import Expressions

NAMES = ("a", "web", "train-1", "ada", "n1", "team.x", "Batch_2", "z" * 100)
NODES = ("n1", "n2", "n-3", "10.0.0.7", "gpu-host.example", "h" * 253)
LABELS = ("zone", "rack", "gen", "example.com/disk", "ä", "k" * 253)
VALUES = ("east", "west", "", "7", "-1.5", "true", "a b", "ü", "v" * 253)
LEVELS = ("host", "zone", "rack", "leaf", "spine", "region", "example.com/row")
WORDS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=8)

names = st.sampled_from(NAMES) | st.from_regex(r"[A-Za-z][a-z0-9]{0,8}(?:[._-][A-Za-z0-9]{1,5}){0,2}", fullmatch=True)
node_names = st.sampled_from(NODES) | st.from_regex(r"[a-z0-9]{1,6}(?:[._-]{1,2}[a-z0-9]{1,5}){0,2}", fullmatch=True)
label_values = st.sampled_from(VALUES) | WORDS
labels = st.dictionaries(st.sampled_from(LABELS) | WORDS, label_values, max_size=3)
levels = st.sampled_from(LEVELS)


def _numbers(most: int, units: tuple[str, ...]) -> st.SearchStrategy[str]:
    amount = st.integers(1, most).map(str) | st.decimals(1, most, places=1).map(str)
    return st.builds("{}{}".format, amount, st.sampled_from(units))


cores = _numbers(64, ("",)) | st.integers(1, 4000).map("{}m".format)
byte_amounts = _numbers(64, ("MB", "GiB", "MiB", "k", "B", " GB"))
time_spans = st.builds("{}{}".format, st.integers(1, 90), st.sampled_from(("ms", "s", "m", "h", "d"))) | st.builds(
    "{}h{}m".format, st.integers(0, 30), st.integers(1, 59)
)
gpus = st.integers(0, 8).map(str) | st.integers(1, 1000).map("{}m".format)
bandwidths = _numbers(900, ("Gbps", "Mbps", "GBps", "Gbit/s"))
latencies = _numbers(900, ("ns", "us", "ms", "µs"))
moments = st.just("now") | time_spans.map("+{}".format) | st.sampled_from(("2036-12-01", "2036-12-01T08:00+01:00"))
expressions = st.sampled_from(
    ('node.labels["zone"] == "east"', "node.free.cpu >= 1", "node.capacity.gpu > 0 || node.name.startsWith('n')")
) | st.integers(0, 300).map(lambda seed: Expressions(random.Random(seed)).condition())
array_indices = st.sampled_from(("1-3", "0,2,4", "1-9:4", "0-3%2", "7"))
prose = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=40)
url_paths = st.sampled_from(("/", "/healthz", "/a/b?c=d", "/%20"))

FORMATS: dict[str, st.SearchStrategy[str]] = {
    "name": names,
    "password": WORDS,  # of a token
    "node-name": node_names,
    "host": st.ip_addresses().map(str) | node_names.filter(lambda name: not name.replace(".", "").isdigit()),
    "ipvanyaddress": st.ip_addresses().map(str),
    "label-key": st.sampled_from(LABELS) | WORDS,
    "label-value": label_values,
    "level": levels,
    "queue-path": st.lists(names.filter(lambda name: len(name) < 50), min_size=1, max_size=3).map("/".join),
    "gpu-model": st.sampled_from(("H100", "A100-80GB", "L4")),
    "name-pattern": st.sampled_from(("*", "team-*", "default", "t?am")),
    "place": names | st.builds("{}/{}".format, names, names),
    "vertex": node_names,
    "array-indices": array_indices,
    "function-name": st.sampled_from(("resize", "a_b-1", "arn:aws:lambda:eu-west-1:123456789012:function:resize")),
    "argument": prose,
    "expression": expressions,
    "url-path": url_paths,
    "printable": prose,
    "prose": prose,
    "cores": cores,
    "gpus": gpus,
    "bytes": byte_amounts,
    "bandwidth": bandwidths,
    "latency": latencies,
    "time-span": time_spans,
    "moment": moments,
    "month": st.sampled_from(("2026-11", "2036-01")),
    "day": st.sampled_from(("2026-11-03", "2036-01-31")),
}
