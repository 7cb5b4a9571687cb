"""The script that a new machine runs at its first start: it installs the agent and joins the control plane.

The join token in it admits one node, that one, for a short time. Afterwards the script is worth nothing to a reader.
"""

import shlex

from dovetail.backends.machines.settings import JoinSettings


def join_script(settings: JoinSettings, node: str, token: str) -> str:
    """A shell script, as cloud-init takes it for user data."""
    options = ["--join", settings.server, "--name", node]
    options += [] if settings.fingerprint is None else ["--fingerprint", settings.fingerprint]
    lines = [
        "#!/bin/sh",
        "set -e",
        settings.install,
        "mkdir -p -m 700 /var/lib/dovetail-agent",
        f"export DOVETAIL_TOKEN={shlex.quote(token)}",  # others cannot read the environment of root's processes
        f"exec {settings.program} agent {shlex.join(options)} --data /var/lib/dovetail-agent",
    ]
    return "\n".join(lines) + "\n"
