"""Commands for workloads: submit, get, describe, logs, cancel, top."""
