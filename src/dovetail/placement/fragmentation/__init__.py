"""Fragments: free GPU capacity that work as it usually comes cannot use, and how to make less of it."""
