"""Commands for services: apply, services, scale, rollout."""
