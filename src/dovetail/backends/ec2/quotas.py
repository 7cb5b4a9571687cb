"""Which vCPU quota of EC2 an instance type counts against. Pure.

AWS counts vCPUs by groups of families, apart for spot, in each region. A quota is named here as it is in the settings:
`us-east-1/standard/on-demand`.
"""

import re

STANDARD = "standard"  # A, C, D, H, I, M, R, T and Z
_GROUPS = {
    "g": "g-and-vt",
    "vt": "g-and-vt",
    "p": "p",
    "x": "x",
    "f": "f",
    "inf": "inf",
    "trn": "trn",
    "dl": "dl",
    "hpc": "hpc",
    "u": "high-memory",
    "mac": "mac",
}
_FAMILY = re.compile(r"^([a-z]+)(\d*)([a-z]*)")


def quota_group(instance_type: str) -> str:
    found = _FAMILY.match(instance_type)
    return _GROUPS.get(found.group(1), STANDARD) if found else STANDARD


def quota_name(region: str, instance_type: str, *, spot: bool) -> str:
    return f"{region}/{quota_group(instance_type)}/{'spot' if spot else 'on-demand'}"
