"""Screening: thousands of settings of the band in the games it is tuned on, played by a program of its own.

How to run it: README.md in this folder; what it was used for, and what came of it: docs/tuning.md.
"""
