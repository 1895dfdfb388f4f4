"""Learners for losses that are random around means, which stay or change; one file each."""
