"""What backends share that call functions: attempts as calls, a journal of them, functions as nodes with a price.

    bind ──► journal: ordered ──► journal: sent ──► the service ──► result ──► journal: ended ──► TaskFinished

A call is written down before it is sent. If its answer is lost, it is sent again only where the service knows the key
and makes "twice" equal "once" (`FunctionService.records`); elsewhere the attempt ends as lost, with the reason.

    calls.py      what a service does with calls, and how it refuses them
    journal.py    what was ordered and how it ended, on disk
    deciding.py   the next step of one attempt, from the journal and the service; pure
    attempts.py   takes the steps, waits, reports
    backend.py    the contract of backends over all of these
    node.py       a function as a node: concurrency, memory, price
"""
