"""What running a task costs on each node, and when it should wait for a cheaper one. Array functions over views."""
