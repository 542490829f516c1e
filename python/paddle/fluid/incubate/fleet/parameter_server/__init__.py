"""Training with parameter servers, in the API of 1.8."""
