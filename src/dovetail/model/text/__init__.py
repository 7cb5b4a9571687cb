"""Reading user input: from YAML and quantities to models, with errors that name the line.

Here belong documents, quantities, times and error messages. What the text means belongs to the other packages of
`model`.
"""
