"""Probes between agents: each answers its peers, and measures round-trip time, loss and bandwidth to those it is told.

control plane ──peers, keys──► probing ──► prober ──► prober_socket ◄──UDP──► other agents
              ◄───results────
"""
