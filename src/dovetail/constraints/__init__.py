"""The constraint language: expressions about nodes, checked when they are submitted and compiled to array programs.

Text (CEL) or structure becomes one tree (`tree`), which is checked (`checking`) and compiled (`program`).
"""
