"""A server that uses no cloud imports none of their SDKs, and settings are read without them."""

import subprocess
import sys

CODE = """
import sys
import dovetail.control.plane
import dovetail.backends.azure.backend
import dovetail.backends.gcp.backend
found = [name for name in sys.modules if (name + ".").startswith(("azure.", "google.cloud.", "google.auth."))]
assert not found, found
"""


def test_nothing_of_a_cloud_is_imported_before_it_is_used() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
