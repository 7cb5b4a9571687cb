"""The agent: one process on a machine that makes it a node of a control plane elsewhere.

    control plane ──orders──► agent ──► local backend ──► processes
                  ◄─reports──

It only ever connects to the control plane, never the other way round. What it runs goes on without it: it finds that
again when it starts, and reports what happened meanwhile.
"""
