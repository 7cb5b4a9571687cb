"""The pipeline of one profile: filter, score, select, explain.

Here belong evaluation, the ranking cache, and refusals. The plugins are in `filters` and `scores`.
"""
