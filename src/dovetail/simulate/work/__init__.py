"""Work of other systems as arrivals: seconds from the beginning, and the workload that is submitted then.

`files` tells formats apart and is what others use; each format has its module. Nothing here does I/O.
"""
