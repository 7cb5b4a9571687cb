"""What Dovetail promises about speed and memory, measured: `python -m benchmarks` or `make bench`.

One module a case, one folder a subject; `harness` runs them, `catalogue` lists them, `report` shows them.
"""
