"""The dashboard: static pages that use the public API, and the table of them.

`static/` is served as it lies here: ES modules, style sheets and one HTML file; there is no build step. Nothing in it
knows more than any script with a token could ask for.
"""
