"""Instances of Google Compute Engine, launched for work and ended when they are idle, through Google's own SDK (extra
`gcp`).

What belongs to all clouds stands in `backends/machines` and `backends/cloud_catalogue`.
"""
