"""Reads work of any format that is known here, told apart by its content.

| content | format |
|---|---|
| `; MaxProcs: …`, or lines of 18 numbers | a batch log, Standard Workload Format |
| CSV with `cpu_milli`, `num_gpu` | Alibaba's pod lists (openb) |
| CSV with `timestamp`, `duration`, `num_gpus` | Philly as CSV |
| a JSON list of jobs with `attempts` | Philly |
| JSON with rows that have `submitted_at` | `dovetail history -o json` |
| YAML with `apiVersion` and `kind` | Kubernetes manifests |
| other YAML or JSON | workloads of Dovetail, each `at` a time if wanted |

Guarantees: arrivals in order, or `Invalid` with the line where there is one.
"""

import gzip
import zlib
from typing import Any

import orjson

from dovetail.model.text.complaint import Invalid
from dovetail.model.text.document import Document, decode, read_documents
from dovetail.model.text.reading import check_documents
from dovetail.simulate.scenario import Arrival
from dovetail.simulate.swf import FIELDS, read_swf
from dovetail.simulate.work.arrival import NodeSizes, TimedWork, in_order, wrong
from dovetail.simulate.work.batch_jobs import of_log
from dovetail.simulate.work.gpu_traces import (
    OPENB_COLUMNS,
    PHILLY_COLUMNS,
    read_openb,
    read_philly,
    read_philly_csv,
)
from dovetail.simulate.work.manifests import is_manifest, read_manifests
from dovetail.simulate.work.own_history import read_history

GZIP_MAGIC = b"\x1f\x8b"
MOST_BYTES = 256 * 2**20


def read_work(data: bytes, source: str, sizes: NodeSizes) -> list[TimedWork]:
    """`sizes`: of the nodes that it is to fit on. Raises Invalid."""
    content = _unpacked(data, source)
    first = next((line for line in content.splitlines() if line.strip()), b"")
    if first.lstrip().startswith(b";") or len(first.split()) == len(FIELDS):
        return of_log(read_swf(content, source), sizes)
    columns = set(first.decode(errors="replace").strip().split(","))
    if columns >= OPENB_COLUMNS:
        return read_openb(decode(content, source), source)
    if columns >= PHILLY_COLUMNS:
        return read_philly_csv(decode(content, source), source, sizes)
    if first.lstrip()[:1] in (b"{", b"[") and (found := _of_json(content, source, sizes)) is not None:
        return found
    documents = [item for document in read_documents(content, source) for item in document.items()]
    if any(is_manifest(document.data) for document in documents):
        return read_manifests(documents)
    return _own(documents, source)


def _of_json(content: bytes, source: str, sizes: NodeSizes) -> list[TimedWork] | None:
    try:
        data: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return None  # perhaps YAML that begins with a bracket
    rows = data.get("items") if isinstance(data, dict) else data
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], dict):
        return None
    if "attempts" in rows[0] and isinstance(rows[0]["attempts"], list):
        return read_philly(rows, source, sizes)
    if "submitted_at" in rows[0]:
        return read_history(rows, source)
    return None


def _own(documents: list[Document], source: str) -> list[TimedWork]:
    if not documents:
        raise wrong(source, None, "holds no work")
    return in_order([(one.at, one) for one in check_documents(Arrival, documents)], from_zero=False)


def _unpacked(data: bytes, source: str) -> bytes:
    if not data.startswith(GZIP_MAGIC):
        return data
    try:
        found = gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise wrong(source, None, f"cannot be unpacked: {error}") from None
    if len(found) > MOST_BYTES:
        raise Invalid(wrong(source, None, f"unpacks to more than {MOST_BYTES} bytes; split it").complaints)
    return found
