"""Plans: where work would go, whom it would preempt and when it could start, without doing it.

Everything here rolls its trials back. `suggestions` and `questions` use it.
"""
