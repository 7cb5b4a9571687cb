"""AWS Lambda: functions as nodes, called through boto3 (`pip install 'dovetail-scheduler[aws]'`).

A function is called in one of two ways, by whether the settings name a table for it:

- without: `RequestResponse`. Any function can be called so. The answer is the result; if it is lost, the attempt is.
- with: `Event`, to a handler under `recorded` (`handler.py`), which claims the key in the table before it runs, and
  writes its result there. Such a call survives restarts of either side, is never run twice, and can be stopped.

    settings.py   which functions, and how they are reached
    clients.py    boto3 on threads, and what its errors mean
    functions.py  the service: describes, calls, finds, stops
    records.py    the table of results, from the side of the control plane
    handler.py    the same from the side of the function: one file that is deployed with it, without Dovetail
"""
