"""The estimators: parameters, fit and transform, fitted attributes."""

from .base import StructureLearner, TrainingRecord
from .ddrtree import DDRTree
from .drtree import DRTree
from .spl import SPL

__all__ = ["SPL", "DDRTree", "DRTree", "StructureLearner", "TrainingRecord"]
