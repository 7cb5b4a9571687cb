"""Azure Functions: functions of function apps as nodes, called over HTTP with function keys.

A function is called in one of two ways, by what the settings say of it:

- `orchestrator`: a Durable Functions orchestration, started through the app's own HTTP API under an instance id that is
  the idempotency key. It survives restarts of either side, is never run twice, and can be terminated.
- `path`: an HTTP trigger. Its answer is the result; `202` with a status URL is followed. If the answer to the call
  itself is lost, the attempt is.

    settings.py   which apps and functions, and their keys
    http.py       requests, and what their errors mean
    status.py     reads answers: statuses of orchestrations, results of triggers; pure
    functions.py  the service: describes, calls, finds, terminates
"""
