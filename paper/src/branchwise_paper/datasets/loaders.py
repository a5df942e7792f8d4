"""The paper's data sets: from files in a folder, from OpenML, or simulated where that is fair."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from branchwise._messages import listed
from branchwise.data.table import InputError
from branchwise.datasets.shapes import make_helix, make_shape
from branchwise.datasets.trees import make_ring

from .catalog import CATALOG, TOYS, Entry, plain, understand
from .dataset import (
    Dataset,
    DatasetNotFound,
    Stored,
    Unavailable,
    as_in_paper,
    check_labels,
    read_arrays,
)
from .dataset import download as ask_openml

VARIABLE = "BRANCHWISE_DATA"


def found_datasets(data_dir: Any = None) -> list[str]:
    """Stems of all files NAME.npz in a folder.

    Parameters
    ----------
    data_dir : path, default=None
        The folder; if None, that of the environment variable BRANCHWISE_DATA, and no files if it is
        not set.

    Returns
    -------
    list of str
        The stems in alphabetical order; `fetch` takes each of them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import numpy as np
    >>> from branchwise_paper.datasets import found_datasets
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.savez(folder / "mine.npz", X=np.eye(3))
    >>> found_datasets(folder)
    ['mine']
    """
    folder = _folder(data_dir)
    if folder is None:
        return []
    files = (path for path in folder.glob("*.npz") if path.is_file())
    return sorted(path.stem for path in files if not path.name.startswith("."))


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
        ("pendigits_test"); case and punctuation do not matter. The part of a set that the paper
        did not use ("pendigits_train") is only taken from a file of that name.
    data_dir : path, default=None
        Folder with files NAME.npz, which hold `X` (samples × features), and if there are any `Xs`
        (scaled), labels `y`, a text `source` and other arrays. If None, the environment variable
        BRANCHWISE_DATA names it, if set.
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
    >>> from branchwise_paper.datasets import fetch
    >>> iris = fetch("Iris")
    >>> iris.X.min(axis=0), iris.X.max(axis=0)
    (array([-1., -1., -1., -1.]), array([1., 1., 1., 1.]))
    >>> spiral = fetch("spiral")
    >>> spiral.kind, spiral.X.shape
    ('simulated', (200, 2))
    """
    if not isinstance(name, str) or not name.strip():
        raise ValueError(
            f"name={name!r} must be the name of a data set; pass 'iris', for instance."
        )
    folder = _folder(data_dir)
    key, part = understand(name)
    path = None if folder is None else _find(name, folder)
    if path is not None:
        return _from_file(path)
    if key is None:
        raise DatasetNotFound(_unknown(name, folder))
    entry = CATALOG[key]
    if part not in ("", entry.part):
        raise DatasetNotFound(_other_part(name, entry, part, folder))
    if entry.make is not None:
        return simulated(entry)
    if key == "iris":
        return bundled_iris(entry)
    if entry.remote is None:
        raise DatasetNotFound(_missing(entry, folder, "no public copy can be downloaded"))
    if not download:
        raise DatasetNotFound(_missing(entry, folder, "download=False"))
    try:
        stored = ask_openml(entry, entry.remote, data_home)
    except Unavailable as error:
        raise DatasetNotFound(_missing(entry, folder, str(error))) from error
    return as_in_paper(entry, stored, f"OpenML {entry.remote.data_id}")


def _folder(data_dir: Any) -> Path | None:
    """The folder of files, once it is known to be one."""
    if data_dir is None:
        data_dir = os.environ.get(VARIABLE) or None
        called = f"{VARIABLE}={data_dir}"
    else:
        called = f"data_dir={os.fspath(data_dir)}"
    if data_dir is None:
        return None
    # These of os return what they were given, and False, where those of Path may raise an error.
    folder = Path(os.path.expanduser(data_dir))
    if not os.path.isdir(folder):
        raise DatasetNotFound(f"{called} is not a folder; name one that holds NAME.npz files.")
    return folder


def _find(name: str, folder: Path) -> Path | None:
    """The file of that name, or one of the set that is meant."""
    stems = found_datasets(folder)
    stem = name.removesuffix(".npz")
    if stem not in stems:
        wanted, meaning = plain(name), understand(name)
        entry = CATALOG.get(meaning.key or "")
        close = [stem for stem in stems if wanted and plain(stem) == wanted]
        if not close and entry is not None and meaning.part in ("", entry.part):
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
    for name in entry.needs:
        if name not in stored.extras and (name != "y" or stored.y is None):
            raise InputError(f"{path} holds no array {name}; {entry.title} needs {entry.arrays}.")
    for name in entry.by_sample:
        if name in stored.extras:
            stored.extras[name] = check_labels(path, stored.extras[name], len(stored.X), name)
    return as_in_paper(entry, stored, path.name)


def _missing(entry: Entry, folder: Path | None, reason: str) -> str:
    """What to do about a set that is known, but not here."""
    looked = (
        f"no folder of data is set (data_dir, or the environment variable {VARIABLE})"
        if folder is None
        else f"{folder} holds no {entry.key}.npz"
    )
    return (
        f"{entry.title} is not here: {looked}, and {reason}. "
        f"{_put(entry.key, entry.arrays, folder)}."
    )


def _other_part(name: str, entry: Entry, part: str, folder: Path | None) -> str:
    """What to do about the part of a set that the paper did not use."""
    return (
        f"name={name!r} means the {part} part of {entry.title}, but the paper has "
        f"{f'the {entry.part} part' if entry.part else 'all of it'}: ask for {entry.key!r}. "
        f"{_put(f'{entry.key}_{part}', entry.arrays, folder)} to have both."
    )


def _put(stem: str, arrays: str, folder: Path | None) -> str:
    where = "a folder, and pass it as data_dir" if folder is None else folder
    return f"Put {stem}.npz with {arrays} into {where}"


def _unknown(name: str, folder: Path | None) -> str:
    """What can be had, where a name says nothing."""
    held = (
        f"no folder of data is set (data_dir, or the environment variable {VARIABLE})"
        if folder is None
        else f"{folder} holds {listed(found_datasets(folder)) or 'no NAME.npz'}"
    )
    return (
        f"name={name!r} is neither a data set of the paper ({', '.join(CATALOG)}) nor a file: "
        f"{held}; choose one of these, or put {plain(name) or 'NAME'}.npz with X and y there."
    )


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


def fetch_iris(**options: Any) -> Dataset:
    """Iris: 150 flowers × 4 measures, 3 species, d = 2. Needs neither file nor connection.

    Options of this and the following functions are those of `fetch`.

    Examples
    --------
    >>> from branchwise_paper.datasets import fetch_iris
    >>> iris = fetch_iris()
    >>> iris.X.shape, iris.n_components
    ((150, 4), 2)
    """
    return fetch("iris", **options)


def fetch_cmu_pie(**options: Any) -> Dataset:
    """CMU-PIE: 3,329 faces of 68 people, 32 × 32 pixels, d = 39; from cmu_pie.npz only."""
    return fetch("cmu_pie", **options)


def fetch_coil20(**options: Any) -> Dataset:
    """COIL20: 1,440 pictures of 20 things that turn, 32 × 32 pixels, d = 84; from coil20.npz only.

    The paper prints D = 2014; it is 1,024.
    """
    return fetch("coil20", **options)


def fetch_isolet(**options: Any) -> Dataset:
    """Isolet1 and Isolet5: 3,119 spoken letters × 617 features, A–M against N–Z, d = 165.

    `extras["y26"]` are the letters, from 1 to 26, where they are known.
    """
    return fetch("isolet", **options)


def fetch_pendigits(**options: Any) -> Dataset:
    """Pendigits: the 3,498 test samples × 16 coordinates of a pen, 10 digits, d = 9."""
    return fetch("pendigits", **options)


def fetch_satimage(**options: Any) -> Dataset:
    """Satimage: the 4,435 training samples × 36 (3 × 3 pixels, 4 bands), 6 soils, d = 6."""
    return fetch("satimage", **options)


def fetch_usps(**options: Any) -> Dataset:
    """USPS: the 2,007 test images of 16 × 16 pixels, 10 digits, d = 32.

    OpenML counts the labels from 1 (the digit 0) to 10.
    """
    return fetch("usps", **options)


def fetch_vehicle(**options: Any) -> Dataset:
    """Vehicle: 846 silhouettes × 18 measures, 4 vehicles, d = 6."""
    return fetch("vehicle", **options)


def fetch_segment(**options: Any) -> Dataset:
    """Segment: 2,310 pieces of pictures × 19 measures, 7 classes, d = 7.

    The paper prints N = 231. One of the 19 features is constant, and 0 here.
    """
    return fetch("segment", **options)


def fetch_letter(**options: Any) -> Dataset:
    """Letter: the last 5,000 of 20,000 printed letters × 16 measures, 26 letters, d = 12."""
    return fetch("letter", **options)


def fetch_teapot(**options: Any) -> Dataset:
    """Teapot: pictures of one turn of a teapot, 76 × 101 RGB pixels, in order; from a file only.

    teapot.npz holds `X` (frames × 23,028, in the order of the rotation), and if known `order` or
    `angle`, which are then in `extras`. The paper has 400 frames; every fourth of them
    (teapot100.npz) is enough for a closed turn. d = 36 is that of its principal curve; its
    pictures have 3 dimensions. Pixels are divided by 255; for the curve the paper scales each of
    them to zero mean and unit variance, which is left to the caller.
    """
    return fetch("teapot", **options)


def fetch_usps_ones(**options: Any) -> Dataset:
    """The 1,100 ones of USPS, 16 × 16 pixels, d = 2; from usps_ones.npz or usps_digit1.npz only.

    `X[i].reshape(16, 16)` is the picture, in some copies its transpose.
    """
    return fetch("usps_ones", **options)


def fetch_faces(**options: Any) -> Dataset:
    """Faces: 185 pictures of 3 people with 3 expressions, 308 × 217 RGB pixels; from a file only.

    faces.npz holds `X` (185 × 200,508), `subject` (CH, AR, LE) and `expression` (NE: neutral,
    HA: happy, SO: shock); these two are in `extras`. d = 185. Pixels are divided by 255; the
    paper scales each of them to zero mean and unit variance, which is left to the caller.
    """
    return fetch("faces", **options)


def fetch_metabric(**options: Any) -> Dataset:
    """METABRIC: gene expression of 1,989 breast tumours and 144 normal tissues; from a file only.

    metabric.npz holds `X` (2,133 × 359 genes) and `y`, the PAM50 subtype of each tumour ("normal"
    is one of them) or "normal tissue". d = 80. The paper does not list the 359 genes (Sun 2014
    does), and access to the data has to be asked for.
    """
    return fetch("metabric", **options)


def fetch_toy(name: str, *, data_dir: Any = None) -> Dataset:
    """A synthetic set of the paper's figures: from a file, or else a shape of our own.

    Parameters
    ----------
    name : str
        "distorted_sshape", "spiral", "zigzag", "three_clusters", "tree", "two_moons", "helix" or
        "circle".
    data_dir : path, default=None
        Folder with files such as toy_spiral.npz; if None, that of BRANCHWISE_DATA, if set.

    Returns
    -------
    Dataset
        With kind "simulated"; `source` says whether the points are those of the file, or were
        generated here by `make_shape`, `make_helix` or `make_ring` in their place (always the
        same ones). Those have the true `branch` and `pseudotime` in `extras`, and on one curve
        also `t`, the position along it from 0 to 1; for the helix its parameter from 0 to 2π.

    Examples
    --------
    >>> from branchwise_paper.datasets import fetch_toy
    >>> moons = fetch_toy("two_moons")
    >>> moons.X.shape, set(moons.y.tolist()), moons.kind
    ((200, 2), {0, 1}, 'simulated')
    """
    key = understand(name).key if isinstance(name, str) else None
    if key not in TOYS:
        raise ValueError(f"name={name!r} must be one of {', '.join(map(repr, TOYS))}.")
    return fetch(key, data_dir=data_dir)
