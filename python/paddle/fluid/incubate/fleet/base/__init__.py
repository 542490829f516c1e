"""What the fleets of 1.8 share."""
