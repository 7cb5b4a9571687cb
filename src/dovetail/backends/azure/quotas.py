"""The quotas that Azure counts cores by: one for each family of sizes in a region, one for all its spot machines.

Their names here are `REGION/FAMILY`, with the family as the portal writes it: `eastus/DSv5` holds Standard_D4s_v5, and
`eastus/spot` is the total of "regional spot vCPUs". Pure.
"""

import re

_SIZE = re.compile(r"^(?:Standard|Basic)_([A-Z]+)\d+(?:-\d+)?([a-z]*)((?:_[A-Z0-9]+)*?)(?:_(v\d+))?$")


def family_of(size: str) -> str:
    """`Standard_NC24ads_A100_v4` is of the family `NCADSA100v4`."""
    found = _SIZE.match(size)
    if found is None:
        return size
    series, features, accelerator, version = found.groups()
    return f"{series}{features.upper()}{accelerator.replace('_', '')}{version or ''}"


def quota_name(region: str, size: str, spot: bool) -> str:
    return f"{region}/spot" if spot else f"{region}/{family_of(size)}"
