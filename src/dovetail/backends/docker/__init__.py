"""Docker hosts as nodes: containers on the engine of the chosen host, through the Engine API.

Guarantees: an attempt's container is started at most once, even if the control plane, the connection or the engine
fails; containers keep running while the control plane is away and are adopted afterwards; a host that does not answer
is offline and delays no other; a stopped key never runs, also after a restart.

There are two sources of truth: the engine has the containers (named after their key and labelled with it), and a
journal in the backend's folder has what was ordered, stopped and ended. The next step of an attempt is decided from
these two alone (`deciding.py`), until the attempt is at rest:

    bind, stop ────► journal ─┐
                              ├──► decide ──► pull, create, start, stop, report
    events, polls ─► engine ──┘

Dovetail decides about retries and placement, so containers have no restart policy. To move a container, Dovetail stops
it and binds a new attempt elsewhere; what it wrote outside its volumes is lost.

The Engine API is a few JSON calls and two streams over a socket. They use httpx, which Dovetail needs anyway: one
client for unix sockets, TLS and SSH, in the event loop, with a timeout on every wait. The Docker SDK blocks a thread
per stream and host, and aiodocker would add a second HTTP library.
"""
