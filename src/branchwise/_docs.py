"""Parts of docstrings that several functions share, written once.

A docstring names such a part on a line of its own, as ``{ax}``, and `documented` puts the text
there when the function is defined: `help` and documentation show all of it.
"""

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

Documented = TypeVar("Documented", bound=Callable[..., object])

# A line that holds nothing else: other braces, as in {"auto", "none"}, are text.
LINE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def documented(texts: Mapping[str, str]) -> Callable[[Documented], Documented]:
    """Fill the named lines of a docstring, of a function or a class.

    Lines that follow a named one, deeper by four spaces, add to its description.

    Parameters
    ----------
    texts : dict of str
        By name; `PICTURES` and `CELLS` are such.

    Returns
    -------
    decorate : function
        It changes only the docstring, and complains of a name that is not in ``texts``.

    Examples
    --------
    >>> import inspect
    >>> from branchwise._docs import PICTURES, documented
    >>> @documented(PICTURES)
    ... def plot_nothing(ax=None):
    ...     '''Draw nothing.
    ...
    ...     {ax}
    ...         An empty one.
    ...     '''
    >>> print(inspect.getdoc(plot_nothing))
    Draw nothing.
    <BLANKLINE>
    ax : matplotlib Axes or None, default=None
        Where to draw; None makes a new figure.
        An empty one.
    """

    def filled(match: re.Match[str]) -> str:
        indent, name = match.groups()
        lines = texts[name].strip("\n").split("\n")
        return "\n".join(indent + line if line else line for line in lines)

    def decorate(target: Documented) -> Documented:
        if target.__doc__ is not None:  # as it is under python -OO
            target.__doc__ = LINE.sub(filled, target.__doc__)
        return target

    return decorate


# Of `branchwise.plotting`.
PICTURES = {
    "color_name": """
color_name : str or None, default=None
    What the values are; None: the name of a pandas Series.
""",
    "palette": """
palette : dict, sequence of colours or None, default=None
    Colours of the categories, by name or in their order.
""",
    "legend": """
legend : {"auto", "outside", "inside", "none"}, default="auto"
    Where the legend is; "auto": beside the picture if the figure has a layout that makes room,
    else in the emptiest corner.
""",
    "values": """
values : array, sparse array or data frame of shape (n_samples, n_features)
    In the order of the samples; NaN is missing.
feature_names : sequence of n_features names, optional
    By default the columns of a data frame, or 0, 1, 2, …
""",
    "features": """
features : name or sequence of names, optional
    What to draw; by default all.
""",
    "ax": """
ax : matplotlib Axes or None, default=None
    Where to draw; None makes a new figure.
""",
}

# Of `branchwise.tl` and `branchwise.pl`.
CELLS = {
    "adata": """
adata : AnnData
    With results of `branchwise.tl.trajectory`, `ddrtree`, `drtree` or `spl`.
""",
    "adata_to_fit": """
adata : AnnData
    The matrix to learn from may be a Dask array, also of sparse blocks: it is read chunk by
    chunk, and never loaded. What is written is in memory all the same.
""",
    "fit_from": """
use_rep : str or None, default=None
    "X", or an entry of ``obsm``. None: "X_pca" if it is there, otherwise "X".
layer : str or None, default=None
    A layer to learn from instead.
""",
    "key": """
key : str or None, default=None
    Name of the results; None: the only ones.
""",
    "genes_from": """
layer : str or None, default=None
    The layer that values of genes are taken from; None: ``X``.
use_raw : bool, default=False
    Take the genes of ``adata.raw``.
""",
    "copy": """
copy : bool, default=False
    Write to a copy and return it.
""",
    "copied": """
adata : AnnData or None
    The copy, with ``copy=True``.
""",
}
