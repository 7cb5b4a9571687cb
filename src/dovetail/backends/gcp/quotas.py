"""The quotas that Google counts cores by, in each region: `us-central1/N2_CPUS`, `us-central1/CPUS` for those families
that share one, `us-central1/PREEMPTIBLE_CPUS` for spot machines. Pure."""

_SHARED = ("e2", "n1", "f1", "g1", "t2d", "g2")


def quota_name(region: str, type_name: str, spot: bool) -> str:
    if spot:
        return f"{region}/PREEMPTIBLE_CPUS"
    family = type_name.split("-", 1)[0]
    return f"{region}/CPUS" if family in _SHARED else f"{region}/{family.upper()}_CPUS"
