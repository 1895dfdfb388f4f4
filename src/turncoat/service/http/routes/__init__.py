"""What the service answers: one file for each kind of request."""
