"""One call for each of the paper's data sets; `fetch` does the work."""

from typing import Any

from .catalog import TOYS, understand
from .dataset import Dataset
from .real import fetch


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
