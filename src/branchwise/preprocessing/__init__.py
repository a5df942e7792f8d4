"""What is done to a table before a fit, learned once and repeated on every later table."""

from .columns import complete_rows
from .core import Preparation

__all__ = ["Preparation", "complete_rows"]
