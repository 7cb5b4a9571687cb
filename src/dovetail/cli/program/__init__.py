"""Commands about the program itself: run a server, run a demo, check settings, print completion and version."""
