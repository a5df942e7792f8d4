"""The paper, reproduced: the methods that it compares with, its data sets, its table and figures.

With this package installed, `branchwise reproduce` is there.
"""

__version__ = "0.1.0"
