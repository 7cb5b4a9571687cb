"""Runs the handler of a Lambda function once for each idempotency key, and records its result in a DynamoDB table.

Deploy this file beside your own code, as it is: it needs only boto3, which Lambda's Python runtimes have.

    from handler import recorded

    @recorded
    def main(event, context):
        return {"rows": 12}

The table has the partition key `key` (text), and its name is in the variable DOVETAIL_TABLE. The role of the function
needs dynamodb:UpdateItem on it. An event without `dovetail.key` is handled as if this file were not there.

Guarantees: the key is claimed before the handler runs, so an event that Lambda delivers twice runs once. While it runs,
a thread counts up `beat` every DOVETAIL_BEAT_S seconds (2): that shows life, and finds out that the call is to stop.
The handler is then interrupted by an exception, or, if it does not end, by the end of its process. Shortly before
Lambda's own time limit, the end is recorded as one.
"""

import json
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

BEAT_S = float(os.environ.get("DOVETAIL_BEAT_S", "2"))
GRACE_S = float(os.environ.get("DOVETAIL_GRACE_S", "5"))
MARGIN_S = 1.0  # before Lambda's time limit
KEPT_S = 14 * 86400
MOST_BYTES = 300_000  # an item of DynamoDB holds 400 KB
_RUNNING, _STOPPING, _ENDED = "running", "stopping", "ended"
_client: Any = None
Handler = Callable[[Any, Any], Any]


class TaskStopped(BaseException):
    """Raised inside the handler when its call is to end. Not an Exception, so that few catch it."""


def recorded(handle: Handler) -> Handler:
    """The handler, run once a key, with its result recorded."""

    def run_once(event: Any, context: Any) -> Any:
        about = event.get("dovetail") if isinstance(event, dict) else None
        if not isinstance(about, dict) or "key" not in about:
            return handle(event, context)
        record = _Record(about["key"])
        if not record.claim(getattr(context, "aws_request_id", "")):
            return {"dovetail": "this key has run, or was stopped: nothing was done"}
        return _run(handle, event, context, record)

    return run_once


class _Interruption:
    """Raises TaskStopped in the main thread, and only while the handler runs there. The signal stays taken: one that
    comes late must not end the process."""

    def __init__(self) -> None:
        self.inside = True
        self.why = ""
        self._in_main = threading.current_thread() is threading.main_thread()  # as in Lambda; else its process ends
        if self._in_main:
            signal.signal(signal.SIGUSR1, self._arrived)

    def interrupt(self, why: str) -> None:
        self.why = why
        if self._in_main:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def _arrived(self, _number: int, _frame: object) -> None:
        if self.inside:
            self.inside = False
            raise TaskStopped


def _run(handle: Handler, event: Any, context: Any, record: "_Record") -> Any:
    done, interruption = threading.Event(), _Interruption()
    watching = threading.Thread(target=_watch, args=(record, context, done, interruption), daemon=True)
    watching.start()
    try:
        value = handle(event, context)
        interruption.inside = False
    except TaskStopped:
        record.end("stopped", interruption.why, "")
        return {"dovetail": interruption.why}
    except BaseException as error:
        interruption.inside = False
        record.end("failed", f"{type(error).__name__}: {error}", traceback.format_exc())
        return {"dovetail": "failed"}
    else:
        record.end("returned", "", json.dumps(value, ensure_ascii=False, default=str))
        return {"dovetail": "returned"}
    finally:
        done.set()
        watching.join()  # it must not interrupt the next event of this process


def _watch(record: "_Record", context: Any, done: threading.Event, interruption: _Interruption) -> None:
    left_ms = getattr(context, "get_remaining_time_in_millis", lambda: 900_000)
    until = time.monotonic() + left_ms() / 1000 - MARGIN_S
    why = ""
    while not why:
        if done.wait(max(0.0, min(BEAT_S, until - time.monotonic()))):
            return
        if time.monotonic() >= until:
            why = "Task timed out: it reached the time limit of the function"
        else:
            why = "" if _beats(record) else "stopped"
    interruption.interrupt(why)
    if not done.wait(GRACE_S):
        record.end("stopped", f"{why}; its handler did not end, so its process was ended", "")
        os._exit(1)


def _beats(record: "_Record") -> bool:
    try:
        return record.beat()
    except Exception:  # the table cannot be reached now: the next beat may
        return True


class _Record:
    """The item of one key."""

    def __init__(self, key: str) -> None:
        self.key = key

    def claim(self, request: str) -> bool:
        values = {
            ":running": {"S": _RUNNING},
            ":one": {"N": "1"},
            ":request": {"S": str(request)},
            ":expires": {"N": str(int(time.time()) + KEPT_S)},
        }
        names = {"#state": "state", "#beat": "beat", "#request": "request", "#expires": "expires"}
        what = "SET #state = :running, #beat = :one, #request = :request, #expires = :expires"
        return self._update(what, "attribute_not_exists(#state)", values, names)

    def beat(self) -> bool:
        """False if it is to stop."""
        values = {":running": {"S": _RUNNING}, ":one": {"N": "1"}}
        what = "SET #beat = #beat + :one"
        return self._update(what, "#state = :running", values, {"#state": "state", "#beat": "beat"})

    def end(self, how: str, reason: str, output: str) -> None:
        """Nothing happens if its end is written already: the first counts."""
        cut = output.encode(errors="replace")
        output = output if len(cut) <= MOST_BYTES else cut[:MOST_BYTES].decode(errors="ignore")
        values: dict[str, Any] = {
            ":running": {"S": _RUNNING},
            ":stopping": {"S": _STOPPING},
            ":ended": {"S": _ENDED},
            ":how": {"S": how},
            ":reason": {"S": reason[:2000]},
            ":output": {"S": output},
            ":cut": {"BOOL": len(cut) > MOST_BYTES},
        }
        names = {"#state": "state", "#how": "how", "#reason": "reason", "#output": "output", "#cut": "cut"}
        what = "SET #state = :ended, #how = :how, #reason = :reason, #output = :output, #cut = :cut"
        for pause_s in (0.2, 1.0, 3.0, None):
            try:
                self._update(what, "#state IN (:running, :stopping)", values, names)
                return
            except Exception:
                if pause_s is None:
                    raise
                time.sleep(pause_s)

    def _update(self, what: str, condition: str, values: dict[str, Any], names: dict[str, str]) -> bool:
        """False if the condition does not hold."""
        global _client
        if _client is None:
            import boto3

            _client = boto3.client("dynamodb")
        try:
            _client.update_item(
                TableName=os.environ["DOVETAIL_TABLE"],
                Key={"key": {"S": self.key}},
                UpdateExpression=what,
                ConditionExpression=condition,
                ExpressionAttributeNames=names,
                ExpressionAttributeValues=values,
            )
        except _client.exceptions.ConditionalCheckFailedException:
            return False
        return True
