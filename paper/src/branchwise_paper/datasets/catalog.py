"""What is known of the paper's data sets: names, sizes, scaling, and where they are kept."""

import re
from typing import NamedTuple


class Remote(NamedTuple):
    """A data set of OpenML, and which of its rows the paper used."""

    data_id: int
    n_rows: tuple[int, ...]  # of the copies that the rows below were chosen for
    first: int = 0  # rows from the beginning; 0 and 0 are all
    last: int = 0  # rows from the end
    # Samples by class in these rows, ascending: a copy in another order does not have them.
    counts: tuple[int, ...] = ()


class Entry(NamedTuple):
    """One data set of the paper."""

    key: str
    title: str
    shape: tuple[int, int]  # as it is
    n_components: int  # the paper's d
    licence: str
    n_classes: int | None = None
    aliases: tuple[str, ...] = ()
    scaling: str = "as it is"  # or "features", "pixels", "signed pixels": see rescale
    printed: tuple[int, int, int, int] | None = None  # (N, c, D, d) of the paper's table
    part: str = ""  # "train" or "test": the part of the original that the paper used
    remote: Remote | None = None
    arrays: str = "X and labels y"
    needs: tuple[str, ...] = ()  # arrays that it cannot do without
    by_sample: tuple[str, ...] = ()  # arrays with one value for each sample, where they are there
    make: str | None = None  # for a synthetic set: our own shape in its place


UCI = "UCI repository, CC BY 4.0"
RESEARCH = "for research; no licence is stated"


def _toy(
    key: str,
    title: str,
    n_samples: int,
    make: str,
    aliases: tuple[str, ...] = (),
    n_features: int = 2,
    n_classes: int | None = None,
) -> Entry:
    """One of the paper's synthetic sets, all of which it embeds in the plane."""
    return Entry(
        key=key,
        title=title,
        aliases=(f"toy_{key}", *aliases, *(f"toy_{alias}" for alias in aliases)),
        shape=(n_samples, n_features),
        n_classes=n_classes,
        n_components=2,
        licence=RESEARCH,
        arrays="X",
        by_sample=("t",),
        make=make,
    )


ENTRIES = (
    Entry(
        key="iris",
        title="Iris",
        shape=(150, 4),
        n_classes=3,
        n_components=2,
        licence=UCI,
        scaling="features",
        printed=(150, 3, 4, 2),
        remote=Remote(61, (150,)),
    ),
    Entry(
        key="cmu_pie",
        title="CMU-PIE",
        aliases=("pie", "pie27", "pie_pose27", "cmu_pie_pose27"),
        shape=(3329, 1024),
        n_classes=68,
        n_components=39,
        licence="Carnegie Mellon University, on request, for research",
        scaling="pixels",
        printed=(3329, 68, 1024, 39),
        arrays="X (3,329 images of 32 × 32 grey pixels as rows of 1,024) and y (the person)",
    ),
    Entry(
        key="coil20",
        title="COIL20",
        aliases=("coil20_processed", "coil20_proc"),
        shape=(1440, 1024),
        n_classes=20,
        n_components=84,
        licence="Columbia University, for research",
        scaling="pixels",
        printed=(1440, 20, 2014, 84),
        arrays="X (1,440 images of 32 × 32 grey pixels as rows of 1,024) and y (the object)",
    ),
    Entry(
        key="isolet",
        title="Isolet",
        aliases=("isolet15", "isolet1and5"),
        shape=(3119, 617),
        n_classes=2,
        n_components=165,
        licence=UCI,
        printed=(3119, 2, 617, 165),
        remote=Remote(300, (7797,), first=1560, last=1559, counts=(119, *[120] * 25)),
        arrays="X (Isolet1 and Isolet5: 3,119 × 617) and y (A–M against N–Z, or the 26 letters)",
        by_sample=("y26",),
    ),
    Entry(
        key="pendigits",
        title="Pendigits",
        aliases=("pendigit", "penbased", "pen_based_digits"),
        shape=(3498, 16),
        n_classes=10,
        n_components=9,
        licence=UCI,
        scaling="features",
        printed=(3498, 10, 16, 9),
        part="test",
        remote=Remote(32, (10992,), last=3498, counts=(335, *[336] * 4, 363, *[364] * 4)),
        arrays="X (the 3,498 test samples × 16) and y (the digit)",
    ),
    Entry(
        key="satimage",
        title="Satimage",
        aliases=("sat_image", "landsat", "statlog_landsat"),
        shape=(4435, 36),
        n_classes=6,
        n_components=6,
        licence=UCI,
        scaling="features",
        printed=(4435, 6, 36, 6),
        part="train",
        # UCI has 6,435 rows; OpenML's copy is described with 6,430.
        remote=Remote(182, (6435, 6430), first=4435, counts=(415, 470, 479, 961, 1038, 1072)),
        arrays="X (the 4,435 training samples × 36) and y (the kind of soil)",
    ),
    Entry(
        key="usps",
        title="USPS",
        aliases=("usps_digits",),
        shape=(2007, 256),
        n_classes=10,
        n_components=32,
        licence=RESEARCH,
        scaling="signed pixels",
        printed=(2007, 10, 256, 32),
        part="test",
        remote=Remote(
            41082, (9298,), last=2007, counts=(147, 160, 166, 166, 170, 177, 198, 200, 264, 359)
        ),
        arrays="X (the 2,007 test images of 16 × 16 pixels as rows of 256) and y (the digit)",
    ),
    Entry(
        key="vehicle",
        title="Vehicle",
        aliases=("vehicles", "vehicle_silhouettes", "statlog_vehicle"),
        shape=(846, 18),
        n_classes=4,
        n_components=6,
        licence=UCI,
        scaling="features",
        printed=(846, 4, 18, 6),
        remote=Remote(54, (846,)),
        arrays="X (846 × 18) and y (the vehicle)",
    ),
    Entry(
        key="segment",
        title="Segment",
        aliases=("segmentation", "image_segment", "image_segmentation"),
        shape=(2310, 19),
        n_classes=7,
        n_components=7,
        licence=UCI,
        scaling="features",
        printed=(231, 7, 19, 7),
        remote=Remote(36, (2310,)),
        arrays="X (2,310 × 19) and y (the class)",
    ),
    Entry(
        key="letter",
        title="Letter",
        aliases=("letters", "letter_recognition"),
        shape=(5000, 16),
        n_classes=26,
        n_components=12,
        licence=UCI,
        scaling="features",
        printed=(5000, 26, 16, 12),
        part="test",
        remote=Remote(6, (20000,), last=5000),
        arrays="X (the last 5,000 of the 20,000 samples × 16) and y (the letter)",
    ),
    Entry(
        key="teapot",
        title="Teapot",
        aliases=("teapots",),
        shape=(400, 23028),
        n_components=36,
        licence=RESEARCH,
        scaling="pixels",
        arrays="X (frames in the order of the rotation, 76 × 101 RGB pixels as rows of 23,028) "
        "and, if known, order or angle",
        by_sample=("order", "angle"),
    ),
    Entry(
        key="usps_ones",
        title="USPS ones",
        aliases=("usps_digit1", "usps_1", "usps_one", "usps_tag1", "usps_with_tag_1"),
        shape=(1100, 256),
        n_components=2,
        licence=RESEARCH,
        scaling="pixels",
        arrays="X (the 1,100 ones, 16 × 16 pixels as rows of 256)",
    ),
    Entry(
        key="faces",
        title="Faces",
        aliases=("face", "facial_expression", "facial_expressions"),
        shape=(185, 200508),
        n_classes=9,
        n_components=185,
        licence=RESEARCH,
        scaling="pixels",
        arrays="X (185 images of 308 × 217 RGB pixels, one a row), subject (CH, AR or LE) and "
        "expression (NE, HA or SO)",
        needs=("subject", "expression"),
        by_sample=("subject", "expression"),
    ),
    Entry(
        key="metabric",
        title="METABRIC",
        shape=(2133, 359),
        n_classes=6,
        n_components=80,
        licence="European Genome-phenome Archive, on request",
        arrays="X (2,133 samples × 359 genes) and y (PAM50 subtype, or 'normal tissue')",
        needs=("y",),
    ),
    _toy("distorted_sshape", "Distorted S-shape", 100, "distorted_s", ("distorted_s", "s_shape")),
    _toy("spiral", "Spiral", 200, "spiral", ("spiral_sun",)),
    _toy("zigzag", "Zigzag", 400, "zigzag"),
    _toy("three_clusters", "Three clusters", 300, "three_clusters", ("3_clusters",)),
    _toy("tree", "Tree", 300, "tree"),
    _toy("two_moons", "Two moons", 200, "two_moons", ("2moons", "moons"), n_classes=2),
    _toy("helix", "Helix", 1000, "helix", n_features=3),
    _toy("circle", "Circle", 100, "circle"),
)
CATALOG = {entry.key: entry for entry in ENTRIES}
# The paper's table, from left to right.
TABLE1 = tuple(entry.key for entry in ENTRIES if entry.printed is not None)
TOYS = tuple(entry.key for entry in ENTRIES if entry.make is not None)

PARTS = {"train": "train", "trn": "train", "tra": "train"} | dict.fromkeys(
    ("test", "tst", "tes"), "test"
)
SUFFIX = re.compile(r"(train|trn|tra|test|tst|tes|scaled|scale|dataset|data|\d+x\d+|\d{3,})$")


def plain(name: str) -> str:
    """A name without its case, punctuation and the file's ending.

    Examples
    --------
    >>> from branchwise_paper.datasets.catalog import plain
    >>> plain("CMU-PIE.npz")
    'cmupie'
    """
    return "".join(c for c in name.casefold().removesuffix(".npz") if c.isalnum())


NAMES = {
    plain(name): entry.key for entry in ENTRIES for name in (entry.key, entry.title, *entry.aliases)
}


class Meaning(NamedTuple):
    """What a name stands for."""

    key: str | None  # of the data set; None if the paper does not have it
    part: str  # "train", "test" or ""


def understand(name: str) -> Meaning:
    """The data set that a name or a file's stem means, also with a part or a number behind it.

    A number needs three digits: `teapot100` are teapots and `tree_300` is the tree, but
    `usps_digit2` is not USPS.

    Examples
    --------
    >>> from branchwise_paper.datasets.catalog import understand
    >>> understand("pendigits_test")
    Meaning(key='pendigits', part='test')
    >>> understand("toy_tree_300").key, understand("usps_digit1").key, understand("mine").key
    ('tree', 'usps_ones', None)
    """
    text, part = plain(name), ""
    while text:
        if text in NAMES:
            return Meaning(NAMES[text], part)
        suffix = SUFFIX.search(text)
        if suffix is None:
            break
        part = PARTS.get(suffix[0], part)
        text = text[: suffix.start()]
    return Meaning(None, "")
