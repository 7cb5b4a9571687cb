"""The processes that read large bodies end with their server, however it ends, and have nothing to say about it."""

import os
import subprocess

from dovetail.api.protocol.readers import COMMAND


def test_a_reader_whose_server_was_killed_before_it_was_ready_ends_in_silence() -> None:
    outlet, inlet = os.pipe()
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=inlet, stderr=subprocess.PIPE) as reader:
        os.close(inlet)
        os.close(outlet)  # as the kernel does for a server that was killed
        assert reader.stdin is not None
        reader.stdin.close()
        assert reader.stderr is not None
        assert reader.stderr.read() == b""
    assert reader.returncode == 0
