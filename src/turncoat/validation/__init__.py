"""Validation of arguments. Every error names the value and says what is accepted."""
