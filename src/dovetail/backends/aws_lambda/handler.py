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

BEAT_S = float(os.environ.get("DOVETAIL_BEAT_S", "2"))
GRACE_S = float(os.environ.get("DOVETAIL_GRACE_S", "5"))
MARGIN_S = 1.0  # before Lambda's time limit
KEPT_S = 14 * 86400
MOST_BYTES = 300_000  # an item of DynamoDB holds 400 KB
_RUNNING, _STOPPING, _ENDED = "running", "stopping", "ended"
_client = None


class TaskStopped(BaseException):
    """Raised inside the handler when its call is to end. Not an Exception, so that few catch it."""


def recorded(handle):
    """The handler, run once a key, with its result recorded."""

    def run_once(event, context):
        about = event.get("dovetail") if isinstance(event, dict) else None
        if not isinstance(about, dict) or "key" not in about:
            return handle(event, context)
        record = _Record(about["key"])
        if not record.claim(getattr(context, "aws_request_id", "")):
            return {"dovetail": "this key has run, or was stopped: nothing was done"}
        return _run(handle, event, context, record)

    return run_once


def _run(handle, event, context, record):
    done, why = threading.Event(), []
    before = signal.signal(signal.SIGUSR1, _raise_stopped)
    watching = threading.Thread(target=_watch, args=(record, context, done, why), daemon=True)
    watching.start()
    try:
        try:
            value = handle(event, context)
        finally:
            done.set()
            signal.signal(signal.SIGUSR1, before or signal.SIG_DFL)
    except TaskStopped:
        words = why[0] if why else "stopped"
        record.end("stopped", words, words if words.startswith("Task timed out") else "")
        return {"dovetail": words}
    except BaseException as error:
        record.end("failed", f"{type(error).__name__}: {error}", traceback.format_exc())
        return {"dovetail": "failed"}
    record.end("returned", "", json.dumps(value, ensure_ascii=False, default=str))
    return {"dovetail": "returned"}


def _raise_stopped(_number, _frame):
    raise TaskStopped


def _watch(record, context, done, why):
    left_ms = getattr(context, "get_remaining_time_in_millis", lambda: 900_000)
    until = time.monotonic() + left_ms() / 1000 - MARGIN_S
    while not done.wait(max(0.0, min(BEAT_S, until - time.monotonic()))):
        if time.monotonic() >= until:
            why.append("Task timed out: the function's own time limit was reached")
        else:
            try:
                if record.beat():
                    continue
            except Exception:  # the table cannot be reached now: the next beat may
                continue
            why.append("stopped")
        break
    else:
        return
    signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
    if not done.wait(GRACE_S):
        record.end("stopped", f"{why[0]}; its handler did not end, so its process was ended", "")
        os._exit(1)


class _Record:
    """The item of one key."""

    def __init__(self, key):
        self.key = key

    def claim(self, request):
        values = {":running": {"S": _RUNNING}, ":one": {"N": "1"}, ":request": {"S": str(request)},
                  ":expires": {"N": str(int(time.time()) + KEPT_S)}}  # fmt: skip
        names = {"#state": "state", "#beat": "beat", "#request": "request", "#expires": "expires"}
        what = "SET #state = :running, #beat = :one, #request = :request, #expires = :expires"
        return self._update(what, "attribute_not_exists(#state)", values, names)

    def beat(self):
        """False if it is to stop."""
        values = {":running": {"S": _RUNNING}, ":one": {"N": "1"}}
        what = "SET #beat = #beat + :one"
        return self._update(what, "#state = :running", values, {"#state": "state", "#beat": "beat"})

    def end(self, how, reason, output):
        """Nothing happens if its end is written already: the first counts."""
        cut = output.encode(errors="replace")
        output = output if len(cut) <= MOST_BYTES else cut[:MOST_BYTES].decode(errors="ignore")
        values = {":running": {"S": _RUNNING}, ":stopping": {"S": _STOPPING}, ":ended": {"S": _ENDED},
                  ":how": {"S": how}, ":reason": {"S": reason[:2000]}, ":output": {"S": output},
                  ":cut": {"BOOL": len(cut) > MOST_BYTES}}  # fmt: skip
        names = {"#state": "state", "#how": "how", "#reason": "reason", "#output": "output", "#cut": "cut"}
        what = "SET #state = :ended, #how = :how, #reason = :reason, #output = :output, #cut = :cut"
        for pause_s in (0.2, 1.0, 3.0, None):
            try:
                return self._update(what, "#state IN (:running, :stopping)", values, names)
            except Exception:
                if pause_s is None:
                    raise
                time.sleep(pause_s)

    def _update(self, what, condition, values, names):
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
