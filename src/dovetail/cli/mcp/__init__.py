"""`dovetail mcp`: questions to the control plane as tools of the Model Context Protocol."""
