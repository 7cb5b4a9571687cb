"""Tries what this machine allows a supervisor: `python -I -S probe <hidden path>…`. Prints `name=reason` for what
fails, and `user_namespace=needed` where a namespace of users is needed for the others."""

# ruff: noqa: PTH100, PTH120, T201

import os
import sys

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)).removesuffix("/dovetail/backends/local/supervisor"))

from dovetail.backends.local.supervisor.containment import CGROUPS, Namespace, drop_privileges
from dovetail.backends.local.supervisor.run_files import Fields


def _try(order: Fields) -> str:
    """In a process of its own, because there is no way back. Returns why it failed, or nothing."""
    outlet, inlet = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if "namespace" in order:
                namespace = Namespace.enter(order, "/")
                namespace.see()
                namespace.end()
            drop_privileges(order)
        except OSError as error:
            os.write(inlet, str(error.strerror or error).encode())
        finally:
            os._exit(0)
    os.close(inlet)
    said = os.read(outlet, 4096).decode(errors="replace")
    os.waitpid(pid, 0)
    return said


def main(hide: list[str]) -> None:
    needs_user = os.geteuid() != 0
    order = {"namespace": ["pid", "mount", *(["user"] if needs_user else [])], "hide": hide}
    if os.path.isdir(CGROUPS):  # noqa: PTH112
        order["read_only"] = [CGROUPS]
    if needs_user:
        print("user_namespace=needed")
    if said := _try(order | {"own_proc": ["yes"]}):
        print(f"own_proc={said}")
        if said := _try(order):
            print(f"namespaces={said}")
    if said := _try({"no_new_privs": ["yes"]}):
        print(f"no_new_privs={said}")


if __name__ == "__main__":
    main(sys.argv[1:])
