"""Reports about runs: figures over seeds with their confidence, and one HTML page that holds everything itself.

`metrics` names the figures, `comparison` sets variants side by side, `sentences` says it in words, `charts` draws SVG,
`page` puts the page together. Nothing here reads or writes files.
"""
