"""A client under load: it submits and cancels without pause, and writes down what it is told.

Batches, single workloads, gangs, workloads that fail once and are retried, that overrun their time limit, that fit
nowhere. A submission whose answer was lost is sent again with the same idempotency key, and some are sent again after
their answer; some have no key and are never repeated, so that nobody knows whether they were accepted.
"""

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from tests.e2e.kills.client_record import ClientRecord, Outcome, SentWorkload
from tests.e2e.kills.command_record import CommandRecord
from tests.patience import PATIENCE_S

from dovetail.client.errors import ConnectError, DovetailError
from dovetail.client.transport.transport import API, Transport

TIMEOUT_S = 10.0
PAUSE_S = 0.05
BATCHES = (*(2, 3, 4, 5) * 4, 30)  # one of 30 is read by another process of the server
RECENT = 20
MORE_THAN_THERE_IS = 1000
_UNAVAILABLE, _GONE = 503, (404, 409)

Spec = dict[str, Any]


class Load(threading.Thread):
    """`pause_s`: between two requests."""

    def __init__(self, url: str, token: str, commands: CommandRecord, seed: int, pause_s: float) -> None:
        super().__init__(daemon=True, name="load")
        self._http = Transport(url, token, TIMEOUT_S, ())
        self._commands = commands
        self._chance = random.Random(seed)
        self._pause_s = pause_s
        self._number = 0
        self._stopping = threading.Event()
        self.record = ClientRecord()
        self.crashed: BaseException | None = None

    def run(self) -> None:
        kinds: list[tuple[int, Callable[[], None]]] = [
            (4, lambda: self._submit([self._quick() for _ in range(self._chance.choice(BATCHES))])),
            (4, lambda: self._submit([self._quick()])),
            (2, lambda: self._submit_once([self._quick()])),
            (2, lambda: self._submit([self._gang()])),
            (2, lambda: self._submit([self._failing_once()])),
            (1, lambda: self._submit([self._overrunning()])),
            (1, lambda: self._submit([self._never_fitting()])),
            (1, lambda: self._cancel(self._recent())),
            (3, self._submit_and_cancel),
        ]
        weights, actions = zip(*kinds, strict=True)
        try:
            while not self._stopping.wait(self._pause_s):
                self._chance.choices(actions, weights)[0]()
        except BaseException as error:
            self.crashed = error
            raise
        finally:
            self._http.close()

    def ask_to_stop(self) -> None:
        self._stopping.set()

    def stop(self) -> None:
        """What was sent is answered first."""
        self.ask_to_stop()
        self.join(2 * PATIENCE_S)
        assert not self.is_alive(), "a request of the load got no answer"
        assert self.crashed is None, f"the load ended by itself: {self.crashed!r}"

    # --- what is submitted -------------------------------------------------------------------------------------

    def _workload(self, kind: str, outcome: Outcome, beats: int, failures: int = 0, **fields: Any) -> Spec:
        self._number += 1
        name = f"{kind}-{self._number}"
        self.record.sent[name] = SentWorkload(name, outcome, fails_first=failures > 0)
        run = {"command": self._commands.command(beats, failures)}
        return {"name": name, "resources": {"cpu": "10m"}, "disruption": {"grace": "1s"}, "run": run, **fields}

    def _quick(self) -> Spec:
        return self._workload("quick", Outcome.SUCCEEDS, self._chance.choice((0, 0, 1, 3, 8)))

    def _long(self) -> Spec:
        return self._workload("long", Outcome.CANCELLED, 600)

    def _gang(self) -> Spec:
        return self._workload("gang", Outcome.SUCCEEDS, self._chance.choice((1, 4)), replicas=3, gang={"min": 3})

    def _failing_once(self) -> Spec:
        return self._workload("retried", Outcome.SUCCEEDS, 1, failures=1, retries=1)

    def _overrunning(self) -> Spec:
        return self._workload("overrun", Outcome.OVERRUNS, 600, deadline={"run_for": "500ms"})

    def _never_fitting(self) -> Spec:
        within = {"schedule_within": "500ms"}
        return self._workload("large", Outcome.NEVER_FITS, 0, resources={"cpu": MORE_THAN_THERE_IS}, deadline=within)

    # --- requests ----------------------------------------------------------------------------------------------

    def _submit(self, specs: list[Spec]) -> None:
        """Until it is answered."""
        headers = {"Idempotency-Key": f"submission-{self._number}"}
        for _ in range(self._chance.choice((1, 1, 1, 2))):
            answer = self._until_answered("POST", "/workloads", json=specs, headers=headers)
            if answer is not None:
                self.record.accepted(answer["accepted"])

    def _submit_once(self, specs: list[Spec]) -> None:
        try:
            answer = self._http.json("POST", f"{API}/workloads", json=specs)
        except ConnectError:
            return
        except DovetailError as error:
            self._check_unavailable(error)
            return
        self.record.accepted(answer["accepted"])

    def _submit_and_cancel(self) -> None:
        """At once, or when it has probably begun."""
        self._submit([self._long()])
        self._stopping.wait(self._chance.choice((0.0, 0.0, self._pause_s, 5 * self._pause_s)))
        self._cancel(next(reversed(self.record.acknowledged)))

    def _recent(self) -> int | None:
        ids = list(self.record.acknowledged)[-RECENT:]
        return self._chance.choice(ids) if ids else None

    def _cancel(self, workload: int | None) -> None:
        if workload is None:
            return
        self.record.cancel_sent.add(workload)
        if self._until_answered("DELETE", f"/workloads/{workload}") is not None:
            self.record.cancelled_at.setdefault(workload, time.time())

    def _until_answered(self, method: str, path: str, **how: Any) -> Any:
        """None: there is nothing to do any more."""
        gives_up_at = time.monotonic() + PATIENCE_S
        while time.monotonic() < gives_up_at:
            try:
                return self._http.json(method, f"{API}{path}", **how)
            except ConnectError:
                pass
            except DovetailError as error:
                if method == "DELETE" and error.status in _GONE:
                    return None
                if not self._check_unavailable(error):
                    return None
            time.sleep(PAUSE_S)
        self.record.wrong_answers.append(f"{method} {path} got no answer in {PATIENCE_S:.0f} s")
        return None

    def _check_unavailable(self, error: DovetailError) -> bool:
        """Whether it is to be tried again. A server that is stopped or cannot write says so; it refuses nothing."""
        if error.status != _UNAVAILABLE:
            self.record.wrong_answers.append(f"{error.status}: {error}")
        return error.status == _UNAVAILABLE
