"""Whole games in compiled code."""
