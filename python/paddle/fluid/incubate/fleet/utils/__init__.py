"""Tools of the fleets of 1.8."""
