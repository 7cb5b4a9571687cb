"""Amounts as the server sends them (cores, bytes, GPUs, pieces), written for people."""

from dovetail.model.text.amounts import show_amount


def shown(resource: str, amount: float) -> str:
    """`1500m`, `31.2GiB`, `8`."""
    return show_amount(resource, amount * 1000 if resource in ("cpu", "gpu") else amount)
