"""What clouds offer, as one catalogue: types of machines with their shape, prices and emissions, from tables that are
shipped with a date and from what a cloud says now.

`price_table.py` reads the tables, `selection.py` says which of the types are wanted, `offered_types.py` makes them
types of machines, each as the node that it would be. Asking a cloud is left to its backend.
"""
