"""The fleet of 1.8."""
