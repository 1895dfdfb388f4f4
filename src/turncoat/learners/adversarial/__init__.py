"""Learners for adversarial losses, one file each."""
