"""From values to colours that colour-blind readers can tell apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import CenteredNorm, Normalize, is_color_like, to_rgba, to_rgba_array

from .._typing import Floats
from ..data.categories import are_numbers, declared_categories, is_missing, largest, numbered

# Okabe and Ito's colours; black is the last.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442", "#000000")
# For more categories: each is the colour farthest from white, greys and all before it, where the
# distance of two colours is the least of those in CIE Lab that people with normal vision,
# protanopia, deuteranopia and tritanopia see (Machado et al. 2009): 20 or more, against 16 within
# Okabe and Ito's. These get another marker, too.
MORE_COLORS = (
    "#5A2D00",
    "#9600F0",
    "#001E87",
    "#B4FFA5",
    "#4B2D5A",
    "#9687FF",
    "#C3A55A",
    "#872D3C",
)
CATEGORY_COLORS = (*PALETTE, *MORE_COLORS)
MOST_CATEGORIES = len(CATEGORY_COLORS)
# Branches have colours that no category has, so that no picture is read as the other. Found by a
# search for the largest least distance, measured as above, from white, the greys below, the colours
# of categories and one another. The first eight, which are neither very dark nor very strong, are
# at least 16.9 from Okabe and Ito's, 12.7 from the other categories' and 17.2 from one another, and
# the first four 33 from one another; dark ones come first, for lines. With another marker come
# eight more: 12.4 from all of them.
BRANCH_COLORS = (
    "#690F78",
    "#B41E00",
    "#785AE1",
    "#87E15A",
    "#00E196",
    "#965A3C",
    "#784B78",
    "#B4D2F0",
    "#B41EA5",
    "#78A569",
    "#3C1E1E",
    "#0F3CD2",
    "#A587C3",
    "#F0004B",
    "#2D2D3C",
    "#692DB4",
)
MISSING, OTHER = "#BDBDBD", "#737373"
SEQUENTIAL, DIVERGING = "viridis", "RdBu_r"


@dataclass(frozen=True, eq=False)
class Coloring:
    """What points are coloured by.

    Attributes
    ----------
    kind : {"none", "category", "number"}
    values : array of shape (n_points,)
        Rows of ``labels``, with −1 for missing ones; or numbers, with NaN for missing ones.
    name : str
        What the values are, or empty.
    labels : tuple of str
        Names of the categories, in order.
    colors : array of shape (n_categories, 4)
        Their colours; for kind "none", the one of all points.
    markers : tuple of str
        Their markers.
    norm, cmap : from numbers to colours
    """

    kind: str
    values: Floats
    name: str = ""
    labels: tuple[str, ...] = ()
    colors: Any = None
    markers: tuple[str, ...] = ()
    norm: Any = None
    cmap: Any = None

    @property
    def is_missing(self) -> Floats:
        """Which values are missing."""
        return np.isnan(self.values) if self.kind == "number" else self.values < 0

    @property
    def counts(self) -> Floats:
        """How many points each category has."""
        return np.bincount(self.values[self.values >= 0], minlength=len(self.labels))

    def rgba(self) -> Floats:
        """A colour for each point.

        Examples
        --------
        >>> from branchwise.plotting.coloring import resolve_color
        >>> resolve_color([0.0, 1.0, None], 3).rgba().round(2)[2].tolist()  # missing: grey
        [0.74, 0.74, 0.74, 1.0]
        """
        if self.kind == "number":
            colors = self.cmap(self.norm(self.values))
            colors[self.is_missing] = to_rgba(MISSING)
            return np.asarray(colors)
        table = np.vstack([self.colors, to_rgba(MISSING)])
        return table[self.values]


def category_colors(n_categories: int, colors: Sequence[str] = CATEGORY_COLORS) -> list[str]:
    """Colours for so many categories, or of ``BRANCH_COLORS`` for branches; beyond 16, grey.

    Examples
    --------
    >>> from branchwise.plotting.coloring import category_colors
    >>> category_colors(3)
    ['#0072B2', '#D55E00', '#009E73']
    >>> len(category_colors(100))
    100
    """
    own = colors[:n_categories]
    return [*own, *[OTHER] * (n_categories - len(own))]


def resolve_color(
    color: Any,
    n_points: int,
    *,
    name: str | None = None,
    kind: str | None = None,
    palette: Any = None,
    colors: Sequence[str] = CATEGORY_COLORS,
    cmap: Any = None,
    center: float | None = None,
    most_categories: int = MOST_CATEGORIES,
    parameter: str = "color",
) -> Coloring:
    """Decide how values become colours.

    Parameters
    ----------
    color : sequence of length n_points, one colour of matplotlib's, or None
        Text, booleans and pandas categoricals are categories, in the order of the categorical or
        else in that of their names ("day 2" before "day 10"); numbers are numbers, also if they
        are few. None, NaN and NA are missing.
    n_points : int
    name : str or None, default=None
        What the values are; None: the name of a pandas Series.
    kind : {"category", "number"} or None, default=None
        To decide otherwise.
    palette : dict, sequence of colours or None, default=None
        Colours by category, or in the order of the categories. None: those of Okabe and Ito and,
        from the ninth category on, eight more with another marker; of more than 16 categories the
        15 largest have their own colours, and the others share one.
    colors : sequence of 16 colours
        What categories get without a palette: ``BRANCH_COLORS`` if they are branches.
    cmap : str, Colormap or None, default=None
        For numbers; None: "viridis", or a diverging one if there is a ``center``.
    center : float or None, default=None
        The number in the middle of a diverging scale.
    most_categories : int, default=16
        The smallest of more categories share a colour.
    parameter : str, default="color"
        What messages call the values.

    Returns
    -------
    coloring : Coloring

    Examples
    --------
    >>> from branchwise.plotting.coloring import resolve_color
    >>> days = resolve_color(["day 10", "day 2", None, "day 2"], 4)
    >>> days.kind, days.labels, days.values.tolist()
    ('category', ('day 2', 'day 10'), [1, 0, -1, 0])
    >>> resolve_color([3, 1, 1, 2], 4).kind
    'number'
    >>> resolve_color([3, 1, 1, 2], 4, kind="category").labels
    ('1', '2', '3')
    """
    if kind not in {None, "category", "number"}:
        raise ValueError(f"kind={kind!r} must be 'category', 'number' or None.")
    if color is None or isinstance(color, str):
        return one_color(color, n_points, parameter)
    if name is None:
        name = getattr(color, "name", None)
    name = "" if name is None else str(name)
    values = as_values(color, n_points, parameter)
    declared = declared_categories(color)
    if kind is None:
        kind = "number" if declared is None and are_numbers(values) else "category"
    if kind == "number":
        return numbers(values, name, cmap, center, parameter)
    return categories(values, declared, name, palette, colors, most_categories)


def one_color(color: str | None, n_points: int, parameter: str) -> Coloring:
    """All points alike."""
    if color is not None and not is_color_like(color):
        raise ValueError(
            f"{parameter}={color!r} is not a colour; pass one value for each point, or a colour "
            "such as '#0072B2'."
        )
    one = to_rgba_array([PALETTE[0] if color is None else color])
    return Coloring("none", np.zeros(n_points, dtype=np.intp), colors=one, markers=("o",))


def as_values(color: Any, n_points: int, parameter: str) -> Any:
    """An array of one dimension."""
    codes = getattr(getattr(color, "cat", color), "codes", None)
    if codes is not None:
        # By itself, pandas makes floats of whole numbers as soon as one is missing.
        texts = [*map(str, declared_categories(color)), None]
        color = np.array(texts, dtype=object)[np.asarray(codes)]
    to_numpy = getattr(color, "to_numpy", None)  # Series, of pandas or polars
    try:
        values = np.asarray(to_numpy() if to_numpy is not None else color)
    except ValueError as error:
        raise ValueError(f"{parameter} must hold one value for each point: {error}.") from error
    if values.ndim == 2 and 1 in values.shape:
        values = values.ravel()
    if values.ndim != 1 or len(values) != n_points:
        raise ValueError(
            f"{parameter} has shape {values.shape} but there are {n_points} points; pass one value "
            "for each point."
        )
    if values.dtype.kind in "cmMV":
        raise TypeError(
            f"{parameter} has values of type {values.dtype}, which have no colours; pass real "
            "numbers (of a date, days since the first) or text."
        )
    return values


def numbers(values: Any, name: str, cmap: Any, center: float | None, parameter: str) -> Coloring:
    """Numbers from the least to the greatest; infinite ones are as the ends."""
    try:
        values = np.where(is_missing(values), np.nan, values).astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{parameter} has values that are not numbers; leave kind='number' out to colour by "
            "category."
        ) from error
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if center is None:
        if low == high:  # one colour, from the middle
            reach = max(abs(low), 1.0) / 2
            low, high = low - reach, high + reach
        norm = Normalize(low, high)
    else:
        reach = max(high - center, center - low)
        norm = CenteredNorm(center, reach if reach > 0 else 1.0)
    chosen = cmap if cmap is not None else SEQUENTIAL if center is None else DIVERGING
    return Coloring("number", values, name, norm=norm, cmap=named_map(chosen))


def named_map(cmap: Any) -> Any:
    """A colour map of matplotlib's, by its name or as it is."""
    try:
        return colormaps.get_cmap(cmap)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"cmap={cmap!r} is not a colour map of matplotlib's; pass 'viridis', for instance."
        ) from error


def categories(
    values: Any, declared: Any, name: str, palette: Any, colors: Sequence[str], most: int
) -> Coloring:
    """Categories in order, each with a colour; the smallest of too many share one."""
    codes, labels = numbered(values, declared)
    if palette is not None:
        chosen = given_colors(palette, labels)
        markers = ("o",) * len(labels)
    else:
        too_many = len(labels) > most
        if too_many:
            codes, labels = largest(codes, labels, most - 1)
        chosen = category_colors(len(labels), colors)
        if too_many:
            chosen[-1] = OTHER
        markers = tuple("o" if k < len(PALETTE) else "^" for k in range(len(labels)))
    rgba = np.array([to_rgba(color) for color in chosen]).reshape(-1, 4)
    return Coloring("category", codes, name, tuple(labels), rgba, markers)


def given_colors(palette: Any, labels: list[str]) -> list[Any]:
    """The user's colours, one for each category."""
    if isinstance(palette, dict):
        by_text = {str(key): value for key, value in palette.items()}
        absent = [label for label in labels if label not in by_text]
        if absent:
            raise ValueError(f"palette has no colour for {absent[0]!r}; add it.")
        colors = [by_text[label] for label in labels]
    else:
        colors = list(palette)[: len(labels)]
        if len(colors) < len(labels):
            raise ValueError(
                f"palette has {len(colors)} colours but there are {len(labels)} categories; pass "
                "one for each."
            )
    wrong = [color for color in colors if not is_color_like(color)]
    if wrong:
        raise ValueError(f"palette has {wrong[0]!r}, which is not a colour of matplotlib's.")
    return colors
