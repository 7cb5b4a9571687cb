"""Text that users write: YAML and units in, models out, and errors with their line.

Here belong documents, quantities, moments and the wording of errors. What the text means is in the other packages
of `model`.
"""
