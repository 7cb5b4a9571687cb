"""Commands about what work costs."""
