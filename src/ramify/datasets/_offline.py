"""The paper's sets that need no file and no connection."""

import numpy as np

from ._catalog import Entry
from ._dataset import Dataset, as_in_paper
from ._npz import Stored
from .shapes import make_helix, make_shape
from .trees import make_ring


def bundled_iris(entry: Entry) -> Dataset:
    """Iris of scikit-learn."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    source = f"scikit-learn's load_iris; {entry.licence}."
    return as_in_paper(entry, Stored(X, False, y, source, "real", {}), "load_iris")


def simulated(entry: Entry) -> Dataset:
    """A shape of our own in the place of the paper's."""
    shape, n_samples = entry.make or "", entry.shape[0]
    if shape == "helix":
        made = make_helix(n_samples, random_state=0)
    elif shape == "circle":
        made = make_ring(n_samples, noise=0.2, random_state=0)
    else:
        made = make_shape(shape, n_samples, random_state=0)
    extras = {"branch": made.truth.edge, "pseudotime": made.pseudotime}
    if len(made.truth.edges) == 1:
        extras["t"] = made.truth.position
    if shape == "helix" and made.clean is not None:
        extras["t"] = np.arctan2(made.clean[:, 1], made.clean[:, 0]) % (2 * np.pi)
    return Dataset(
        name=entry.key,
        title=entry.title,
        X=made.X,
        y=made.truth.edge if entry.n_classes else None,
        n_components=entry.n_components,
        kind="simulated",
        source="Generated here, in the place of the paper's file: "
        f"{made.description.removeprefix('simulated: ')}.",
        extras=extras,
    )
