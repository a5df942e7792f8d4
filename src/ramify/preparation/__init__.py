"""What is done to a table before a fit, learned once and repeated on every later table."""

from .core import Preparation
from .given import complete_rows

__all__ = ["Preparation", "complete_rows"]
