"""Routes about the server as a whole: summary, profiles, events, health, metrics, and the pages for people."""
