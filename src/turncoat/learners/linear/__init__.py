"""Learners whose losses are linear, in features of the arms or in a point; one file each."""
