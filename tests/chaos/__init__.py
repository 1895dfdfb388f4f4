"""Kills the service, its applier and its database again and again under load, and counts what was lost."""
