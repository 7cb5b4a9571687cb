"""`Questions`: the engine's read-only interface, in parts by subject.

Each part is a value of its own: who needs one subject takes that part alone.
Guarantees: a question leaves no trace. Which questions are asked, and when, changes no later command and no persisted
byte (`EngineState.no_trace`). Answers are plain values.
Left to others: sentences for users (`api.questions`), and when long questions run (`control.services.questions`).
"""

from collections.abc import Hashable

from dovetail.engine.engine import Engine
from dovetail.engine.questions.attention_questions import AttentionQuestions
from dovetail.engine.questions.balance_questions import BalanceQuestions
from dovetail.engine.questions.explanation_questions import ExplanationQuestions
from dovetail.engine.questions.map_questions import MapQuestions
from dovetail.engine.questions.network_questions import NetworkQuestions
from dovetail.engine.questions.node_questions import NodeQuestions
from dovetail.engine.questions.plan_questions import PlanQuestions
from dovetail.engine.questions.pod_questions import PodQuestions
from dovetail.engine.questions.policy_questions import PolicyQuestions
from dovetail.engine.questions.queue_questions import QueueQuestions
from dovetail.engine.questions.reservation_questions import ReservationQuestions
from dovetail.engine.questions.trend_questions import TrendQuestions
from dovetail.engine.questions.usage_gauges import UsageGauges
from dovetail.engine.questions.workload_questions import WorkloadQuestions


class Questions:
    def __init__(self, engine: Engine) -> None:
        self._engine, self._state = engine, engine._state
        self.nodes = NodeQuestions(self._state)
        self.workloads = WorkloadQuestions(self._state)
        self.queues = QueueQuestions(self._state)
        self.reservations = ReservationQuestions(self._state)
        self.policies = PolicyQuestions(self._state)
        self.network = NetworkQuestions(self._state)
        self.balance = BalanceQuestions(self._state)
        self.gauges = UsageGauges(self._state)
        self.trends = TrendQuestions(self._state, self.gauges)
        self.map = MapQuestions(self._state)
        self.attention = AttentionQuestions(self._state)
        self.explanations = ExplanationQuestions(self._state)
        self.pods = PodQuestions(self._state)
        self.plans = PlanQuestions(self._state, self.explanations, lambda: self.version)

    @property
    def version(self) -> Hashable:
        """Differs whenever an answer might."""
        cluster = self._state.cluster
        return self._engine.version, cluster.changes, cluster.generation, cluster.epoch
