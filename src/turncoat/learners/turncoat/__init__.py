"""Turncoat, the learner: a master over bases of four kinds, which all learn from every round."""

from turncoat.learners.turncoat.learner import Turncoat

__all__ = ["Turncoat"]
