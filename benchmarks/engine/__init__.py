"""The engine in process: decisions on synthetic clusters, `balanced` profile, explanations kept."""
