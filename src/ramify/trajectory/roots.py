"""Where a trajectory begins: from what the user says to nodes or samples."""

from typing import Any, NamedTuple

import numpy as np

from .._messages import listed
from .._typing import Bools, Floats, Ints
from .wilson import wilson_interval

# Richness of a label: the lower end of Wilson's interval of this level for its share.
LEVEL = 0.95


class Root(NamedTuple):
    """A node of the graph, or the place of a sample on it."""

    kind: str  # "node" or "sample"
    which: int


def node_numbers(nodes: Any, named: dict[int, str], n_nodes: int, parameter: str) -> list[int]:
    """Nodes given by their number or by the name of a milestone."""
    by_name = {name: node for node, name in named.items()}
    valid = [f"the numbers 0 to {n_nodes - 1}", f"the milestones {listed(by_name)}"]
    found = []
    for node in np.atleast_1d(np.asarray(nodes, dtype=object)).tolist():
        if isinstance(node, str) and node in by_name:
            found.append(by_name[node])
        elif is_number(node) and 0 <= node < n_nodes:
            found.append(int(node))
        else:
            raise ValueError(
                f"{parameter}={plain(node)!r} is no node of the graph; valid are "
                f"{' and '.join(valid[: 2 if by_name else 1])}."
            )
    if not found:
        raise ValueError(f"{parameter} is empty; name at least one, or leave {parameter} out.")
    return found


def is_number(node: Any) -> bool:
    """Whether this may be the number of a node."""
    return isinstance(node, int | np.integer) and not isinstance(node, bool)


def plain(value: Any) -> Any:
    """A NumPy scalar as Python writes it."""
    return value.item() if isinstance(value, np.generic) else value


def richness(labels: Any, value: Any, at: str, groups: Ints, n_groups: int) -> tuple[Floats, Bools]:
    """How rich each group is in a label, and which samples have it.

    Share and size are weighed by the lower end of Wilson's interval for the share: nine of ten
    beat one of one.

    Parameters
    ----------
    labels : sequence of length n_samples
    value : label to look for
    at : what a group is called in a message
    groups : array of shape (n_samples,)
        The group that each sample counts for; −1 for none.
    n_groups : int

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.trajectory.roots import richness
    >>> day = ["day 0"] * 9 + ["day 3"] + ["day 0"] + ["day 3"] * 4
    >>> richness(day, "day 0", "tip", np.repeat([0, 1, 2], [10, 1, 4]), 3)[0].round(3)
    array([0.596, 0.207, 0.   ])
    """
    # As objects, so that numbers among strings stay numbers, and missing labels what they are.
    given = np.asarray(labels, dtype=object)
    if given.shape != groups.shape:
        raise ValueError(
            f"labels has shape {given.shape}, but there are {len(groups)} samples; give one label "
            "for each."
        )
    # What compares to neither true nor false is missing (pandas.NA).
    is_same = [label == value for label in given.tolist()]
    has_it = np.array([isinstance(same, bool | np.bool_) and same for same in is_same], dtype=bool)
    if not has_it.any():
        present = dict.fromkeys(repr(plain(label)) for label in given.tolist())
        raise ValueError(
            f"value={plain(value)!r} is none of the labels; they are {listed(present)}."
        )
    counted = groups >= 0
    size = np.bincount(groups[counted], minlength=n_groups)
    rich = np.bincount(groups[counted & has_it], minlength=n_groups)
    if not rich.any():
        raise ValueError(
            f"No sample labelled {value!r} is next to a {at}; pass at='node' to look at all nodes."
        )
    return wilson_interval(rich, size, LEVEL)[0], has_it
