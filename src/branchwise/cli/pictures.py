"""Figures of a result, with a panel for each colour."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from .._compat import import_pandas
from .._writing import replacing_bytes
from ..report.content import COMPUTED
from ..trajectory import Trajectory

PANEL = (6.5, 5.0)

DPI = 150

# More categories than this are rather names than groups.
MAX_CATEGORIES = 12

# What pandas calls columns that may be groups; dates and lists are none.
GROUPS = {"string", "categorical", "boolean", "integer", "floating"}


def default_colors(is_rooted: bool, annotations: Any) -> list[str]:
    """What to colour by when nobody said: time, or the first annotation with few categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.pictures import default_colors
    >>> default_colors(False, pd.DataFrame({"note": ["a", "a"], "sex": ["f", "m"]}))
    ['sex']
    """
    if is_rooted:
        return ["pseudotime", "branch"]
    kind_of = import_pandas().api.types.infer_dtype
    for name, values in annotations.items():
        if kind_of(values) in GROUPS and 2 <= values.nunique() <= MAX_CATEGORIES:
            return [name]
    return ["branch"]


def colored_panels(
    draw: Callable[..., Any], path: Trajectory, samples: Any, colors: Sequence[str], dims: int = 2
) -> Any:
    """A figure with one panel for each column, or for the pseudotime or branch of the path."""
    width, height = PANEL
    figure = Figure(figsize=(width * len(colors), height), layout="constrained")
    for k, name in enumerate(colors):
        projection = "3d" if dims == 3 else None
        ax = figure.add_subplot(1, len(colors), k + 1, projection=projection)
        color = name if name in COMPUTED else samples[name].to_numpy()
        label = name
        if not isinstance(color, str) and color.dtype.kind == "M":
            color, label = (color - np.nanmin(color)) / np.timedelta64(1, "D"), f"{name} (days)"
        draw(path, color=color, color_name=label, ax=ax)
    return figure


def save_figure(figure: Any, files: Sequence[Path], dpi: int = DPI) -> None:
    """Write a figure, whole or not at all, without the date: the same result, the same file."""
    with matplotlib.rc_context({"svg.hashsalt": "branchwise"}):
        for path in files:
            kind = path.suffix[1:]
            undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
            with replacing_bytes(path) as file:
                figure.savefig(file, format=kind, dpi=dpi, metadata=undated.get(kind))
