"""What needs a person now: findings of the engine and of the parts around it, in sentences, the worst first."""
