"""What work costs: the ledger of past days, budgets of namespaces, and the subsystem that keeps both."""
