"""Learners that are told the losses of all arms, one file each."""
