"""Amounts written for people: `500m`, `31.2GiB`, `400Gbps`.

`quantity` and `resources` read amounts and offer these functions too. Importing this module does not import Pydantic:
a command draws the answers of a server without it.
"""

DECIMAL_UNITS = {"PB": 10**15, "TB": 10**12, "GB": 10**9, "MB": 10**6, "KB": 10**3}
BINARY_UNITS = {"PiB": 2**50, "TiB": 2**40, "GiB": 2**30, "MiB": 2**20, "KiB": 2**10}


def show_amount(resource: str, amount: float) -> str:
    """An amount for users: `500m`, `1.5`, `31.2GiB`, `8`."""
    if resource == "cpu":
        return f"{amount / 1000:.10g}" if abs(amount) >= 1000 or not amount else f"{amount:.0f}m"
    if resource in ("memory", "disk"):
        return show_bytes(amount)
    if resource == "gpu":
        return f"{amount / 1000:g}"
    return f"{amount:g}"


def show_bytes(amount: float) -> str:
    """For users, with three significant digits: `31.2GiB`. Exact multiples keep their unit: `1TB`, `1.5GiB`."""
    unit, factor = _unit_of(amount, BINARY_UNITS)
    if not _is_short(amount, factor):
        decimal, size = _unit_of(amount, DECIMAL_UNITS)
        if _is_short(amount, size):
            unit, factor = decimal, size
    scaled = amount / factor
    return f"{scaled:.0f}{unit}" if scaled == round(scaled) else f"{scaled:.1f}{unit}"


def _unit_of(amount: float, units: dict[str, int]) -> tuple[str, int]:
    """The largest unit that is not larger than the amount."""
    return next(((unit, factor) for unit, factor in units.items() if abs(amount) >= factor), ("B", 1))


def _is_short(amount: float, factor: int) -> bool:
    """Whether one digit after the point is enough to say it exactly."""
    return factor == 1 or round(amount) * 10 % factor == 0


def format_bandwidth(mbps: int) -> str:
    """`400Gbps`, `1500Mbps`."""
    return shortest(mbps, {"Tbps": 10**6, "Gbps": 10**3}, "Mbps")


def shortest(amount: int, units: dict[str, int], smallest: str) -> str:
    """The shortest exact text: in the largest unit of which it is a multiple."""
    for unit, factor in units.items():
        if amount and amount % factor == 0:
            return f"{amount // factor}{unit}"
    return f"{amount}{smallest}"
