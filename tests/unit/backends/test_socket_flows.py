"""Bytes between processes, as the kernel counts them for each socket."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.patience import wait_for

from dovetail.backends.socket_flows import FlowMeter

LISTENER = """
import socket, sys
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    connection, _ = server.accept()
    while connection.recv(65536):
        connection.sendall(b"y" * 1000)
"""


@contextmanager
def listener() -> Iterator[tuple[int, int]]:
    """The pid and the port of a process that listens."""
    process = subprocess.Popen([sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.pid, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_the_one_who_connects_reports_what_went_each_way_and_each_byte_once() -> None:
    meter = FlowMeter()
    with listener() as (pid, port), socket.create_connection(("127.0.0.1", port)) as connection:
        keys = {"1.0.1": {os.getpid()}, "2.0.1": {pid}}
        seen = [0, 0]

        def counted(sent: int) -> bool:
            reports = meter.measure(keys)
            assert reports["2.0.1"].listens == [port]
            assert reports["2.0.1"].flows == []  # the other side reports it
            for flow in reports["1.0.1"].flows if "1.0.1" in reports else ():
                if flow.port == port:
                    seen[0], seen[1] = seen[0] + flow.sent, seen[1] + flow.received
            return sent <= seen[0] <= sent + 1  # the kernel counts the first packet as a byte

        connection.sendall(b"x" * 50_000)
        connection.recv(1000)
        wait_for(lambda: counted(50_000))
        connection.sendall(b"x" * 300)
        wait_for(lambda: counted(50_300))
        assert seen[1] >= 1000
    meter.close()


def test_a_process_that_is_gone_and_a_task_without_sockets_have_no_report() -> None:
    meter = FlowMeter()
    assert meter.measure({"1.0.1": {2**22 - 1}}) == {}
    assert meter.measure({}) == {}
    meter.close()
