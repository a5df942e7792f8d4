"""Models in files: arrays and text in one archive, without code."""

from .format import ModelFileError
from .loading import load

__all__ = ["ModelFileError", "load"]
