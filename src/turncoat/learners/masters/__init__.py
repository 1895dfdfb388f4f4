"""Learners that choose among learners, one file each."""
