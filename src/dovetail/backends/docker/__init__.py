"""Docker hosts as nodes: containers on the engine of the chosen host, through the Engine API.

Guarantees: an attempt's container is started at most once, whatever happens to the control plane, the connection or the
engine; containers run on while the control plane is away and are found again; a host that does not answer is offline
and delays no other; a stopped key never runs, also after a restart.

Two places hold the truth: the engine knows the containers (named for their key, labelled with it), and a journal in
the backend's folder knows what was ordered, stopped and ended. What to do next for an attempt is decided from the two
alone (`deciding.py`), again and again until it is at rest:

    bind, stop ──► journal ──┐
                             ├──► decide ──► pull, create, start, stop, tell
    events, looks ─► engine ─┘

Dovetail decides about retries and places, so containers have no restart policy; to move one, the engine of Dovetail
stops it and binds a new attempt elsewhere, and what it wrote outside its volumes is left behind.

The Engine API is a few JSON calls and two streams over a socket. They are spoken with httpx, which Dovetail needs
anyway: one client for unix sockets, TLS and SSH, in the event loop, with a limit on every wait. The Docker SDK blocks a
thread for each stream of each host, and aiodocker would bring a second HTTP library for what is one class here.
"""

from dovetail.backends.docker.settings import DockerSettings

__all__ = ["DockerSettings"]
