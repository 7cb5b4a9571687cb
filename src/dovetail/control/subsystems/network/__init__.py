"""The subsystem that measures the network: tells agents whom to probe, and the engine how far nodes are apart.

routes ◄──► probe_board ◄──► measuring ──DistancesMeasured──► engine
"""
