"""Commands that replay work on a virtual cluster. The simulation itself is in `dovetail.simulate`."""
