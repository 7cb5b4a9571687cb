"""What commands print for people: pure functions from an answer of the API to Rich renderables, one module a noun.

Guarantees: no I/O and no clock (`now` is an argument). At 80 columns nothing important is cut off. Values come from
users and are shown as text, never interpreted as markup.
"""
