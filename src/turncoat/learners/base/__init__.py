"""What learners share: their base classes, and what those are built from."""
