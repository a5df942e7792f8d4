"""Small panels of points, side by side: what the experiments' pictures have in common."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

from branchwise._typing import Floats, Ints

DPI = 160
# Text in vector formats stays text; nothing else is changed, and nothing beyond the picture.
STYLE = {"font.size": 9, "axes.titlesize": 10, "svg.fonttype": "none"}


@contextmanager
def picture(path: Path, n_rows: int, n_columns: int, *, size: tuple[float, float]) -> Iterator[Any]:
    """Axes of a new figure, as an array of rows and columns, written to a file in the end.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from branchwise_paper.experiments._figures import picture
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "two.png"
    >>> with picture(path, 1, 2, size=(4, 2)) as axes:
    ...     axes[0, 1].set_title("right").get_text()
    'right'
    >>> path.exists()
    True
    """
    with matplotlib.rc_context(STYLE):
        figure, axes = plt.subplots(
            n_rows, n_columns, figsize=size, layout="constrained", squeeze=False
        )
        try:
            yield axes
            figure.savefig(path, dpi=DPI)
        finally:
            plt.close(figure)


def draw_panel(
    ax: Any,
    points: Floats,
    colors: Any,
    *,
    edges: Ints | None = None,
    size: float = 5.0,
    equal: bool = True,
) -> None:
    """Points, over the faint edges of a graph, in a frame without ticks.

    The frame is a square with the points in its middle; with ``equal`` a unit is as long across as
    it is up.
    """
    if edges is not None and len(edges):
        lines = LineCollection(list(points[edges]), colors="0.55", linewidths=0.35, alpha=0.5)
        ax.add_collection(lines)
    ax.scatter(points[:, 0], points[:, 1], c=colors, s=size, linewidths=0, zorder=2)
    low, high = points.min(axis=0), points.max(axis=0)
    middle, reach = (low + high) / 2, (high - low) / 2
    if equal:
        reach = np.full(2, reach.max())
    reach = np.where(reach > 0, 1.08 * reach, 1.0)
    ax.set_xlim(middle[0] - reach[0], middle[0] + reach[0])
    ax.set_ylim(middle[1] - reach[1], middle[1] + reach[1])
    ax.set_box_aspect(1)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set(color="0.75", linewidth=0.8)


def verbatim(text: str) -> str:
    r"""A name that is drawn as it is, also if it could pass for a formula.

    Examples
    --------
    >>> from branchwise_paper.experiments._figures import verbatim
    >>> print(verbatim("$x$"))
    \$x\$
    """
    return text.replace("$", r"\$")


def highlight(ax: Any, color: str) -> None:
    """A thick frame."""
    for spine in ax.spines.values():
        spine.set(color=color, linewidth=2.2)


def turned(embedding: Floats, target: Floats) -> Floats:
    """An embedding of two columns, turned or mirrored so that it is most like the target.

    Distances stay as they are (orthogonal Procrustes problem).

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.experiments._figures import turned
    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])
    >>> np.allclose(turned(square[:, ::-1], square), square - square.mean(axis=0))
    True
    """
    centred = embedding - embedding.mean(axis=0)
    left, _, right = np.linalg.svd(centred.T @ (target - target.mean(axis=0)))
    return np.asarray(centred @ left @ right)
