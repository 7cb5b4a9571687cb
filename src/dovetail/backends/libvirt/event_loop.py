"""libvirt's own event loop: one thread of the process, which delivers domain events and answers keepalives."""

import logging
import threading
from typing import Any

import libvirt

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_thread: threading.Thread | None = None


def ensure_event_loop() -> None:
    """Has to be called before the first connection of the process is opened."""
    global _thread
    with _lock:
        if _thread is not None:
            return
        libvirt.virEventRegisterDefaultImpl()
        libvirt.registerErrorHandler(_ignore, None)  # by default every error is also printed
        # libvirt sleeps in its loop until something happens; a timer makes it look around now and then.
        libvirt.virEventAddTimeout(1000, _nothing, None)
        _thread = threading.Thread(target=_run, name="libvirt events", daemon=True)
        _thread.start()


def _run() -> None:
    while True:
        try:
            libvirt.virEventRunDefaultImpl()
        except Exception:  # a callback failed: the others go on
            _log.exception("libvirt's event loop")


def _ignore(_: Any, __: Any) -> None:
    pass


def _nothing(_: Any, __: Any) -> None:
    pass
