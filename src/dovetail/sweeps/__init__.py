"""Sweeps: many simulations of one source that differ in profile, weights, values of the source, and seed.

`definition` is the file that users write, `cases` what follows from it, `execution` runs cases here or on a Dask
cluster, `results` keeps what is done. The simulation itself is in `simulate`, the drawing in `reports`.
"""
