"""What long-running commands set up for themselves."""

import platform
import subprocess
import sys

import pytest

SIXTEEN_THREADS = """
import ctypes, sys, threading
from dovetail.cli.program.loop import share_memory

if sys.argv[2] == "shared":
    share_memory()
kept, all_have_some = [], threading.Barrier(16)

def work():
    kept.append(ctypes.create_string_buffer(50_000))
    all_have_some.wait()

threads = [threading.Thread(target=work) for _ in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(library.fopen(sys.argv[1].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library of this machine is not glibc")
def test_threads_share_two_areas_of_memory(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("memory")

    def areas(how: str) -> int:
        subprocess.run([sys.executable, "-c", SIXTEEN_THREADS, str(folder / how), how], check=True)
        return (folder / how).read_text().count("<heap nr=")

    assert areas("shared") == 2
    assert areas("as glibc does") > 2
