"""Pages, rendered on request from the store."""
