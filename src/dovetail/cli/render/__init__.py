"""What the commands show: pure functions from what the API answers to Rich renderables.

Guarantees: no I/O, no clock (`now` is an argument); at 80 columns nothing important is cut off. Values come from users
and are shown as text, never read as markup.
"""
