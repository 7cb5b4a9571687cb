"""States and statuses: a sign and a word, and a colour that never stands alone."""

from dovetail.cli.render.parts.text import Text

_SIGNS = {
    "pending": ("○", "yellow"),
    "queued": ("○", "yellow"),
    "placed": ("◔", "blue"),
    "bound": ("◑", "blue"),
    "starting": ("◑", "blue"),
    "running": ("●", "green"),
    "stopping": ("◌", "yellow"),
    "preempted": ("◌", "yellow"),
    "succeeded": ("✓", "green"),
    "failed": ("✗", "red"),
    "cancelled": ("⊘", "dim"),
    "online": ("●", "green"),
    "cordoned": ("◌", "yellow"),
    "draining": ("◌", "yellow"),
    "drained": ("○", "yellow"),
    "quarantined": ("◌", "yellow"),
    "unready": ("◑", "yellow"),
    "crash_loop": ("✗", "red"),
    "progressing": ("◑", "blue"),
    "complete": ("✓", "green"),
    "rolled_back": ("✗", "red"),
    "offline": ("✗", "red"),
    "backend down": ("✗", "red"),
}


def state(word: str) -> Text:
    sign, style = _SIGNS.get(word, ("·", ""))
    return Text(f"{sign} {word}", style=style)


def state_style(word: str) -> str:
    return _SIGNS.get(word, ("", ""))[1]


def tally(words: dict[str, int]) -> str:
    """`3 running, 1 failed`: states in the order of a lifecycle; states without tasks are left out."""
    order = [*(word for word in _SIGNS if word in words), *(word for word in words if word not in _SIGNS)]
    return ", ".join(f"{words[word]} {word}" for word in order if words[word])
