"""Virtual machines of Azure, launched for work and ended when they are idle, through Azure's own SDK (extra `azure`).

What belongs to all clouds stands in `backends/machines` and `backends/cloud_catalogue`.
"""
