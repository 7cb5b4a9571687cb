"""The process of the stand-in: answers its commands on a unix socket.

python -m tests.servers.openpbs.daemon FOLDER [--no-history]
"""

import json
import socketserver
import sys
from pathlib import Path

from tests.servers.openpbs.commands import COMMANDS, Call, Partly
from tests.servers.openpbs.complex import Complex, Vnode
from tests.servers.openpbs.requests import PbsError

GIB = 2**30


def answer(pbs: Complex, asked: dict[str, object]) -> dict[str, object]:
    name = str(asked["command"])
    call = Call(list(asked["words"]), str(asked["given"]), dict(asked["environment"]))  # type: ignore[call-overload]
    try:
        said = COMMANDS[name](pbs, call)
    except PbsError as error:
        return {"said": "", "wrong": f"{name}: {error}\n", "status": error.status}
    except Partly as partly:
        return {"said": partly.said, "wrong": f"{partly.wrong}\n", "status": partly.status}
    except Exception as error:
        return {"said": "", "wrong": f"{name}: PBS server internal error: {error!r}\n", "status": 1}
    return (
        {"said": "", "wrong": "", "status": said} if isinstance(said, int) else {"said": said, "wrong": "", "status": 0}
    )


def main() -> None:
    folder = Path(sys.argv[1])
    pbs = Complex(folder, history="--no-history" not in sys.argv)
    for number in (1, 2, 3, 4):
        total = {"ncpus": 4, "mem": 4 * GIB, **({"ngpus": 2, "fpga": 1} if number > 2 else {})}
        name = f"v{number}"
        pbs.vnodes[name] = Vnode(name, total, {"switch": "s1" if number < 3 else "s2"})
    limits = {"queue_type": "Execution", "enabled": "True", "started": "True"}
    pbs.queues = {"workq": dict(limits), "short": {**limits, "resources_max": {"walltime": "01:00:00"}}}  # type: ignore[dict-item]

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(json.dumps(answer(pbs, json.loads(self.rfile.read()))).encode())

    class Server(socketserver.ThreadingUnixStreamServer):
        daemon_threads = True
        request_queue_size = 100

    with Server(str(folder / "pbs.sock"), Handler) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
