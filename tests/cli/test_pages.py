"""Pictures of a result."""

import numpy as np
import pandas as pd

from branchwise.cli.pages import colored_panels
from branchwise.trajectory import Trajectory


def legends(values):
    nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 2.0], [3.0, -1.0]])
    path = Trajectory([[0, 1], [1, 2], [1, 3]], nodes)
    figure = colored_panels("embedding", path, pd.DataFrame({"dead": values}), ["dead"])
    found = [ax.get_legend() for ax in figure.axes if ax.get_legend() is not None]
    return [text.get_text() for legend in found for text in legend.get_texts()]


def test_a_column_of_0_and_1_is_two_groups():
    """A scale from 0 to 1 would say that there is something between."""
    assert legends([0, 1, 1, 0]) == ["0 (2)", "1 (2)"]
    assert legends([0.0, 1.0, np.nan, 1.0])[:2] == ["0 (1)", "1 (2)"]


def test_other_numbers_have_a_scale():
    assert legends([0, 1, 2, 1]) == []
