"""The paper's data sets: from files in a folder, from OpenML, or simulated where that is fair."""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._messages import listed
from .._typing import Floats
from ..io import InputError
from ._catalog import CATALOG, TOYS, Entry, plain, understand
from ._npz import Stored, read_arrays
from ._openml import Unavailable, download_part, part_rows
from .shapes import make_helix, make_shape
from .trees import make_ring

VARIABLE = "RAMIFY_DATA"
# Pixels above this are of the range 0 to 255; other ranges in use end at 1 or 2.
MOST_UNSCALED_PIXEL = 16


class DatasetNotFound(ValueError):
    """A data set that is not there: where it was looked for, and what to do.

    Examples
    --------
    >>> from ramify.datasets import DatasetNotFound, fetch
    >>> try:
    ...     fetch("no such set", data_dir=".")
    ... except DatasetNotFound:
    ...     print("not there")
    not there
    """


class Dataset(NamedTuple):
    """Points of a data set, scaled as the paper had them, and what is known about them.

    Attributes
    ----------
    name : str
        The key, such as "iris"; the file's stem if the paper does not have the set.
    title : str
        The paper's name for it; the file's stem if it has none.
    X : ndarray of float64 of shape (n_samples, n_features)
        The samples.
    y : ndarray of shape (n_samples,) or None
        Their labels.
    n_components : int or None
        The paper's d.
    kind : {"real", "simulated", "stand-in"}
        What the data are: measured, simulated, or in the place of what could not be had.
    source : str
        Where they are from, under which licence, and how they differ from the paper's.
    extras : dict
        The file's other arrays, by name.

    Examples
    --------
    >>> from ramify.datasets import fetch_iris
    >>> iris = fetch_iris()
    >>> iris.title, iris.X.shape, iris.n_components, iris.kind
    ('Iris', (150, 4), 2, 'real')
    """

    name: str
    title: str
    X: Floats
    y: Any
    n_components: int | None
    kind: str
    source: str
    extras: dict[str, Any]


def found_datasets(data_dir: Any = None) -> list[str]:
    """Stems of all files NAME.npz in a folder.

    Parameters
    ----------
    data_dir : path, default=None
        The folder; if None, that of the environment variable RAMIFY_DATA, and no files if it is
        not set.

    Returns
    -------
    list of str
        The stems in alphabetical order; `fetch` takes each of them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from ramify.datasets import found_datasets
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "mine.npz", X=np.eye(3))
    >>> found_datasets(folder)
    ['mine']
    """
    folder = _folder(data_dir)
    if folder is None:
        return []
    return sorted(path.stem for path in folder.glob("*.npz") if path.is_file())


def fetch(
    name: str, *, data_dir: Any = None, download: bool = True, data_home: Any = None
) -> Dataset:
    """A data set of the paper, or any other of your own files, by its name.

    A file NAME.npz in `data_dir` comes first. Without one, Iris is that of scikit-learn, the
    other sets of the UCI repository and USPS are taken from OpenML, and the paper's synthetic
    shapes are simulated here.

    Parameters
    ----------
    name : str
        The paper's name of the set ("CMU-PIE"), its key ("cmu_pie") or the stem of a file
        ("pendigits_test"); case and punctuation do not matter.
    data_dir : path, default=None
        Folder with files NAME.npz, which hold `X` (samples × features), and if there are any `Xs`
        (scaled), labels `y`, a text `source` and other arrays. If None, the environment variable
        RAMIFY_DATA names it, if set.
    download : bool, default=True
        Whether to ask OpenML for what is not there.
    data_home : path, default=None
        Where scikit-learn keeps what it has downloaded; if None, its own place.

    Returns
    -------
    Dataset
        Points, labels and what is known about them.

    Raises
    ------
    DatasetNotFound
        If it is neither there nor to be had; says which file to put where.
    InputError
        If the file is broken; names it.

    Notes
    -----
    **What was hard.** The paper does not say how it scaled its data. Principal component analysis
    at its d gives the printed numbers of its linear model to four digits on Iris, Pendigits and
    Segment if each feature is scaled to [−1, 1], as in the copies of LIBSVM; so those and the
    three other sets of small tables are scaled to that (a constant feature becomes 0), after the
    paper's rows were chosen. Isolet and USPS are in [−1, 1] already. Images in 0 to 255 are divided
    by 255 (USPS: mapped to [−1, 1]). `Xs`, where a file has it, is taken at its word.

    The table prints 231 samples for Segment, which has 2,310, and 2,014 features for COIL20, which
    has 1,024. Isolet is Isolet1 and Isolet5, A–M against N–Z; a file with the 26 letters
    gets these two classes, and keeps the letters as `extras["y26"]`. A file with all rows of the
    original is cut to the paper's part, as OpenML's copy is.

    The numbers of OpenML's sets, and their sizes, are from its documentation and from other
    programs; no download was tried when this was written. Number of rows and of features are
    checked, and so is the frequency of classes in the part that is cut out: if it is
    not that of the paper's rows (because the copy is in another order), the set is called a
    "stand-in" and `source` says why. For Letter's last 5,000 rows it is not known, hence not
    checked.

    Examples
    --------
    >>> from ramify.datasets import fetch
    >>> iris = fetch("Iris")
    >>> iris.X.min(axis=0), iris.X.max(axis=0)
    (array([-1., -1., -1., -1.]), array([1., 1., 1., 1.]))
    >>> spiral = fetch("spiral")
    >>> spiral.kind, spiral.X.shape
    ('simulated', (200, 2))
    """
    if not isinstance(name, str) or not plain(name):
        raise ValueError(
            f"name={name!r} must be the name of a data set; pass 'iris', for instance."
        )
    folder = _folder(data_dir)
    key = understand(name).key
    path = None if folder is None else _find(name, folder)
    if path is not None:
        return _from_file(path)
    if key is None:
        raise DatasetNotFound(_unknown(name, folder))
    entry = CATALOG[key]
    if entry.make is not None:
        return _simulated(entry)
    if key == "iris":
        return _iris(entry)
    if entry.remote is None:
        raise DatasetNotFound(_missing(entry, folder, "no public copy can be downloaded"))
    if not download:
        raise DatasetNotFound(_missing(entry, folder, "download=False"))
    try:
        part = download_part(entry, entry.remote, data_home)
    except Unavailable as error:
        raise DatasetNotFound(_missing(entry, folder, str(error))) from error
    source = f"OpenML {entry.remote.data_id}; {entry.licence}."
    if not part.is_paper_part:
        source += (
            " Its rows are in another order than the original's, so that these "
            f"{len(part.X)} are not the paper's."
        )
    kind = "real" if part.is_paper_part else "stand-in"
    return _finish(entry, Stored(part.X, False, part.y, source, kind, {}), f"OpenML's {key}")


def rescale(X: Floats, scaling: str) -> Floats:
    """Samples as the paper had them.

    "features": each feature to [−1, 1], a constant one to 0. "pixels": 0–255 to [0, 1]; "signed
    pixels": 0–255 to [−1, 1]; both leave other ranges alone. "as it is": nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.datasets.real import rescale
    >>> rescale(np.array([[1.0, 7.0], [2.0, 7.0], [5.0, 7.0]]), "features")
    array([[-1. ,  0. ], [-0.5,  0. ], [ 1. ,  0. ]])
    """
    if scaling == "features":
        low, high = X.min(axis=0), X.max(axis=0)
        # Halves first: the range of large numbers could overflow.
        half = high / 2 - low / 2
        middle = high / 2 + low / 2
        return np.divide(X - middle, half, out=np.zeros_like(X), where=half > 0)
    is_bytes = X.min() >= 0 and MOST_UNSCALED_PIXEL < X.max() <= 255
    if scaling == "pixels" and is_bytes:
        return X / 255
    if scaling == "signed pixels" and is_bytes:
        return X / 127.5 - 1
    return X


def _folder(data_dir: Any) -> Path | None:
    """The folder of files, once it is known to be one."""
    if data_dir is None:
        data_dir = os.environ.get(VARIABLE) or None
        called = f"{VARIABLE}={data_dir}"
    else:
        called = f"data_dir={os.fspath(data_dir)}"
    if data_dir is None:
        return None
    folder = Path(data_dir).expanduser()
    if not folder.is_dir():
        raise DatasetNotFound(f"{called} is not a folder; name one that holds NAME.npz files.")
    return folder


def _find(name: str, folder: Path) -> Path | None:
    """The file of that name, or one of the set that is meant."""
    stems = found_datasets(folder)
    stem = name.removesuffix(".npz")
    if stem not in stems:
        wanted, entry = plain(name), CATALOG.get(understand(name).key or "")
        close = [stem for stem in stems if plain(stem) == wanted]
        if not close and entry is not None:
            # The shortest name first, but the paper's part before all; never the other part.
            close = [
                stem
                for stem in sorted(stems, key=lambda stem: (_part(stem) != entry.part, len(stem)))
                if understand(stem).key == entry.key and _part(stem) in ("", entry.part)
            ]
        if not close:
            return None
        stem = close[0]
    return folder / f"{stem}.npz"


def _part(stem: str) -> str:
    return understand(stem).part


def _from_file(path: Path) -> Dataset:
    """A set in a file: the paper's, or one of its own."""
    stored = read_arrays(path)
    entry = CATALOG.get(understand(path.stem).key or "")
    # Somebody's own tree in ten dimensions may well be called tree.
    if entry is None or (entry.make is not None and stored.X.shape[1] != entry.shape[1]):
        says_simulated = "simulated" in stored.source.lower()
        return Dataset(
            name=path.stem,
            title=path.stem,
            X=stored.X,
            y=stored.y,
            n_components=None,
            kind=stored.kind or ("simulated" if says_simulated else "real"),
            source=stored.source or f"{path.name}, which does not tell where it is from.",
            extras=stored.extras,
        )
    remote, n_rows = entry.remote, len(stored.X)
    if remote is not None and n_rows in remote.n_rows and n_rows != entry.shape[0]:
        chosen = part_rows(remote, n_rows)
        stored = stored._replace(
            X=stored.X[chosen],
            y=None if stored.y is None else stored.y[chosen],
            source=f"{stored.source or path.name} (the paper's {len(chosen)} of {n_rows} rows)",
            extras={
                name: values[chosen] if values.shape[:1] == (n_rows,) else values
                for name, values in stored.extras.items()
            },
        )
    return _finish(entry, stored, str(path))


def _finish(entry: Entry, stored: Stored, where: str) -> Dataset:
    """Scaled, with the paper's classes, and with what differs from the paper's set."""
    y, extras = stored.y, stored.extras
    if entry.key == "isolet":
        y, extras = _two_classes(y, extras, where)
    X = stored.X if stored.is_scaled else rescale(stored.X, entry.scaling)
    source = stored.source or f"{Path(where).name}; {entry.licence}."
    if X.shape != entry.shape:
        source = source.rstrip(". ") + (
            f". Here {X.shape[0]} samples × {X.shape[1]} features, of the paper's "
            f"{entry.shape[0]} × {entry.shape[1]}."
        )
    kind = stored.kind or ("simulated" if entry.make is not None else "real")
    return Dataset(entry.key, entry.title, X, y, entry.n_components, kind, source, extras)


def _two_classes(y: Any, extras: dict[str, Any], where: str) -> tuple[Any, dict[str, Any]]:
    """Isolet's A–M (0) against N–Z (1), from the letters if they are all that is there."""
    letters = extras.get("y26", y)
    if letters is None or (y is not None and len(np.unique(y)) <= 2):
        return y, extras
    words = [str(letter).upper() for letter in letters]
    if all(len(word) == 1 and "A" <= word <= "Z" for word in words):
        numbers = np.array([ord(word) - ord("A") + 1 for word in words])
    else:
        try:
            numbers = np.asarray(letters).astype(np.float64)
        except ValueError:
            numbers = np.array([np.nan])
        numbers = numbers + (numbers.min() == 0)
    if not np.isin(numbers, np.arange(1, 27)).all():
        raise InputError(
            f"{where} holds labels that are neither two classes nor the letters A to Z nor 1 to "
            "26; save y as one of these."
        )
    numbers = numbers.astype(np.int64)
    return (numbers > 13).astype(np.int64), {**extras, "y26": numbers}


def _iris(entry: Entry) -> Dataset:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    source = f"scikit-learn's load_iris; {entry.licence}."
    return _finish(entry, Stored(X, False, y, source, "real", {}), "load_iris")


def _simulated(entry: Entry) -> Dataset:
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
        source=f"Generated here, in the place of the paper's file: {made.description}.",
        extras=extras,
    )


def _missing(entry: Entry, folder: Path | None, reason: str) -> str:
    """What to do about a set that is known, but not here."""
    looked = (
        f"no folder of data is set (data_dir, or the environment variable {VARIABLE})"
        if folder is None
        else f"{folder} holds no {entry.key}.npz"
    )
    return (
        f"{entry.title} is not here: {looked}, and {reason}. Put {entry.key}.npz with "
        f"{entry.arrays} into {'a folder, and name that' if folder is None else folder}."
    )


def _unknown(name: str, folder: Path | None) -> str:
    """What can be had, where a name says nothing."""
    held = (
        f"no folder of data is set (data_dir, or the environment variable {VARIABLE})"
        if folder is None
        else f"{folder} holds {listed(found_datasets(folder)) or 'no NAME.npz'}"
    )
    return (
        f"name={name!r} is neither a data set of the paper ({', '.join(CATALOG)}) nor a file: "
        f"{held}; choose one of these, or put {plain(name)}.npz with X and labels y there."
    )


def fetch_toy(name: str, *, data_dir: Any = None) -> Dataset:
    """A synthetic set of the paper's figures: from a file, or else a shape of our own.

    Parameters
    ----------
    name : str
        "distorted_sshape", "spiral", "zigzag", "three_clusters", "tree", "two_moons", "helix" or
        "circle".
    data_dir : path, default=None
        Folder with files such as toy_spiral.npz; if None, that of RAMIFY_DATA, if set.

    Returns
    -------
    Dataset
        With kind "simulated"; `source` says whether the points are those of the file, or were
        generated here by `make_shape`, `make_helix` or `make_ring` in their place (always the
        same ones). Those have the true `branch` and `pseudotime` in `extras`, and on one curve
        also `t`, the position along it from 0 to 1; for the helix its parameter from 0 to 2π.

    Examples
    --------
    >>> from ramify.datasets import fetch_toy
    >>> moons = fetch_toy("two_moons")
    >>> moons.X.shape, set(moons.y.tolist()), moons.source[:14]
    ((200, 2), {0, 1}, 'Generated here')
    """
    key = understand(name).key if isinstance(name, str) else None
    if key not in TOYS:
        raise ValueError(f"name={name!r} must be one of {', '.join(map(repr, TOYS))}.")
    return fetch(key, data_dir=data_dir)
