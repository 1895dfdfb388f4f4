"""Compiling with numba: decorators, dispatch by type, and the kernel cache on disk."""
