"""Parses Slurm's generic resources: `gpu:a100:2(S:0-1),fpga:1` and, in use, `gpu:a100:1(IDX:0)`.

GPUs become GPUs with their type as the model. Every other resource is an extended resource under the name that Slurm's
accounting has for it, such as `gres/fpga`.
"""

import re
from collections import Counter

from dovetail.model.device import MAX_DEVICES, Gpus

GPU = "gpu"
_ENTRY = re.compile(r"([A-Za-z0-9_.-]+)(?::([A-Za-z_][A-Za-z0-9_.-]*))?:(\d+)([KMGT]?)")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_EXTENDED = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*", re.ASCII)

Counted = Counter[tuple[str, str]]  # by kind and type, which may be empty


def counted(text: str) -> Counted:
    found: Counted = Counter()
    for part in re.sub(r"\([^)]*\)", "", text).split(","):
        match = _ENTRY.fullmatch(part.strip().removeprefix("gres/").removeprefix("gres:"))
        if match:
            found[match[1], match[2] or ""] += int(match[3]) * _UNITS[match[4]]
    return +found


def gpus_of(there: Counted) -> list[Gpus]:
    """One group per type, up to the limit of GPUs per node."""
    groups, left = [], MAX_DEVICES
    for (kind, model), count in sorted(there.items()):
        count = min(count, left)
        if kind == GPU and count > 0:
            groups.append(Gpus(count=count, model=model or None))
            left -= count
    return groups


def extended_of(there: Counted) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (kind, _), count in there.items():
        if kind != GPU and _EXTENDED.fullmatch(kind):
            found[f"gres/{kind}"] += count
    return dict(found)


def asked_for(models: list[str], extended: dict[str, int]) -> str:
    """The value of `--gres`: one entry per GPU model (empty: any model), and the other resources."""
    gpus = Counter(models)
    entries = [f"gpu:{model}:{count}" if model else f"gpu:{count}" for model, count in sorted(gpus.items())]
    return ",".join(entries + [f"{name.removeprefix('gres/')}:{count}" for name, count in sorted(extended.items())])
