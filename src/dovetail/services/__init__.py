"""Services: what to do next so that the replicas are those that the definition asks for.

Pure: functions of records, observations and the time. What runs them, asks replicas for their health and keeps the
records is `control.service_controller`. A replica is a workload of one task (`replicas`), so everything that places,
moves and restarts tasks is the engine's.
"""
