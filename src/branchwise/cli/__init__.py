"""The command line: arguments -> files -> estimator -> files. No mathematics here."""

from .main import main

__all__ = ["main"]
