"""Sizes and times as PBS writes them: `4194304kb`, `8gb`, `512mw` (words of 8 bytes); `36:00:00`, `90`. Pure."""

import re

_SIZE = re.compile(r"(\d+)\s*([kmgtp]?)([bw]?)", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_WORD_BYTES = 8
_TIME = re.compile(r"(?:(\d+):)?(?:(\d+):)?(\d+)(?:\.\d+)?")


def read_size(text: str | int | None) -> int | None:
    """In bytes; None if it is not a size."""
    match = _SIZE.fullmatch(str(text).strip()) if text is not None else None
    if match is None:
        return None
    unit = _WORD_BYTES if match[3].lower() == "w" else 1
    return int(match[1]) * int(1024 ** _POWERS[match[2].lower()]) * unit


def read_time_s(text: str | int | None) -> int | None:
    """`[[hours:]minutes:]seconds`; None if it is not a time."""
    match = _TIME.fullmatch(str(text).strip()) if text is not None else None
    if match is None:
        return None
    parts = [int(part) for part in match.groups() if part is not None]
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + part
    return seconds


def written_time(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
