"""History lines about backends that are added, changed or removed at run time: what, by whom, and why.

Guarantees: a line names the settings that changed, never their values; a secret in a note is masked. Left to others:
storing the lines.
"""

from dovetail.backends.registry import BackendEntry
from dovetail.control.loop.history import signed
from dovetail.control.settings.secret_settings import cleaner
from dovetail.model.record import HistoryLine

KIND = "backend"


def added(name: str, entry: BackendEntry, now: float, author: str, note: str) -> HistoryLine:
    return _line(name, f"added, of kind {entry.kind}", entry, now, author, note)


def changed(
    name: str, before: BackendEntry | None, entry: BackendEntry, now: float, author: str, note: str
) -> HistoryLine:
    """`before` None: the old settings could not be read."""
    if before is None:
        return _line(name, "given its settings anew", entry, now, author, note)
    fields = type(entry.settings).model_fields
    others = [field for field in fields if getattr(before.settings, field) != getattr(entry.settings, field)]
    what = f"changed ({', '.join(others)})" if others else "given the same settings again"
    return _line(name, what, entry, now, author, note)


def removed(
    name: str, entry: BackendEntry | None, nodes: int, tasks: int, unconfirmed: int, now: float, author: str, note: str
) -> HistoryLine:
    what = f"removed with {_counted(nodes, 'node')} and {_counted(tasks, 'task')} on them"
    if unconfirmed:
        what += f", of which {unconfirmed} may run on there"
    return _line(name, what, entry, now, author, note)


def _line(name: str, what: str, entry: BackendEntry | None, now: float, author: str, note: str) -> HistoryLine:
    words = cleaner(None if entry is None else entry.settings)(signed(f"backend {name} {what}", author, note))
    return HistoryLine(now, KIND, words, backend=name)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
