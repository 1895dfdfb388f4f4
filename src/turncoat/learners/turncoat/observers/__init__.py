"""Observers, called beside Turncoat's rule: the history behind its explanations, and the certificate's sums."""
