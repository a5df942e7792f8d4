"""Drawings of faces: three persons with three expressions, in the place of photographs."""

from typing import Any, NamedTuple

import numpy as np

from branchwise._typing import Floats
from branchwise.data.checks import check_count
from branchwise.datasets._simulated import check_number, check_rng

HEIGHT, WIDTH = 77, 54
# The paper's names of the subjects and of the expressions: neutral, happy, shocked.
SUBJECTS = ("CH", "AR", "LE")
EXPRESSIONS = ("NE", "HA", "SO")


class Faces(NamedTuple):
    """Drawings of faces, one a row.

    Attributes
    ----------
    X : ndarray of shape (n_images, 12474)
        Colours from 0 to 1; ``X[i].reshape(77, 54, 3)`` is an image.
    subject, expression : ndarray of str
        Who is drawn, and how he or she looks.
    description : str
        How the images were made.
    """

    X: Floats
    subject: Any
    expression: Any
    description: str


class Person(NamedTuple):
    """What one subject's drawings have in common; lengths are parts of the width of the head."""

    skin: tuple[float, float, float]
    hair: tuple[float, float, float]
    shirt: tuple[float, float, float]
    head: float  # height of the head, in widths
    jaw: float  # how much narrower the head is below
    fringe: float  # height of the forehead
    eyes: float  # size of the eyes
    brow: float  # thickness of the brows
    nose: float
    lips: float  # width of the mouth


PEOPLE = {
    "CH": Person(
        *((0.93, 0.78, 0.66), (0.16, 0.11, 0.08), (0.25, 0.33, 0.52)),
        *(1.30, 0.16, 0.34, 1.00, 0.035, 0.10, 0.40),
    ),
    "AR": Person(
        *((0.80, 0.60, 0.46), (0.08, 0.07, 0.07), (0.62, 0.60, 0.56)),
        *(1.22, 0.06, 0.26, 0.85, 0.055, 0.13, 0.46),
    ),
    "LE": Person(
        *((0.97, 0.84, 0.75), (0.55, 0.36, 0.16), (0.50, 0.20, 0.24)),
        *(1.38, 0.24, 0.30, 1.12, 0.025, 0.09, 0.36),
    ),
}


class Look(NamedTuple):
    """An expression, from 0 for none to about 1."""

    smile: float  # corners of the mouth upwards
    gape: float  # mouth opened
    stare: float  # eyes opened
    raised: float  # brows upwards


LOOKS = {
    "NE": Look(0.0, 0.0, 0.0, 0.0),
    "HA": Look(1.0, 0.35, -0.25, 0.15),
    "SO": Look(-0.1, 1.0, 0.6, 1.0),
}


def make_faces(n_repeats: int = 20, *, noise: float = 0.02, random_state: Any = None) -> Faces:
    """Draw faces of three subjects with three expressions, many times each: no photographs.

    They stand in for the 185 photographs of Song et al. (2007) that the paper shows, which cannot
    be given away. Each drawing has a head, hair, shirt, eyes, brows, nose and mouth. Repetitions
    differ in the strength of the expression, in a small shift, turn and size of the head, in the
    direction and the strength of the light, and in the noise of pixels, as photographs of one
    sitting do.

    Parameters
    ----------
    n_repeats : int, default=20
        Drawings of each subject with each expression.
    noise : float, default=0.02
        Standard deviation of the noise of each colour of each pixel, where 1 is white.
    random_state : int, numpy.random.Generator or None, default=None
        Seed of the random numbers.

    Returns
    -------
    Faces
        The images by subject, then by expression; both in the paper's order.

    Notes
    -----
    **What was hard:** not to draw what the experiment is to find. The amounts of variation were
    set to what looked like one sitting of a person, before any tree was learned from the drawings,
    and not changed after.

    Examples
    --------
    >>> from branchwise_paper.datasets import make_faces
    >>> faces = make_faces(2, random_state=0)
    >>> faces.X.shape, faces.subject[:3].tolist(), faces.expression[:3].tolist()
    ((18, 12474), ['CH', 'CH', 'CH'], ['NE', 'NE', 'HA'])
    """
    n_repeats = check_count(n_repeats, "n_repeats")
    noise = check_number(noise, "noise", 0)
    rng = check_rng(random_state)
    cases = [(s, e) for s in SUBJECTS for e in EXPRESSIONS for _ in range(n_repeats)]
    images = np.stack([_draw(rng, PEOPLE[s], LOOKS[e]) for s, e in cases])
    images += noise * rng.standard_normal(images.shape)  # last: drawings are as without
    subject, expression = np.array(cases).T
    return Faces(
        np.clip(images, 0.0, 1.0).reshape(len(images), -1),
        subject,
        expression,
        f"rendered: {len(images)} drawings of {len(SUBJECTS)} faces with {len(EXPRESSIONS)} "
        "expressions, no photographs",
    )


def _draw(rng: np.random.Generator, who: Person, look: Look) -> Floats:
    """One image: pixels are looked up in the coordinates of the head, from hair to chin."""
    strength = rng.normal(1.0, 0.12)
    mood = [strength * amount + rng.normal(0, 0.04) for amount in look]
    smile, gape, stare, raised = mood[0], max(mood[1], 0.0), mood[2], mood[3]
    angle, size = rng.normal(0, 0.025), rng.normal(1.0, 0.015)
    # Eyes are aligned: what is left of shifts is less than a pixel.
    row, column = np.mgrid[:HEIGHT, :WIDTH].astype(np.float64)
    unit = 0.72 * WIDTH * size
    x = (column - (WIDTH - 1) / 2 - rng.normal(0, 0.35)) / unit
    y = (row - 0.44 * HEIGHT - rng.normal(0, 0.35)) / unit
    x, y = np.cos(angle) * x + np.sin(angle) * y, np.cos(angle) * y - np.sin(angle) * x
    glance = rng.normal(0, 0.012)

    skin, hair = np.array(who.skin), np.array(who.hair)
    image = np.broadcast_to(np.array([0.70, 0.72, 0.74]), (HEIGHT, WIDTH, 3)).copy()
    half = 0.5 * (1 - who.jaw * np.clip(y + 0.1, 0, None))
    shoulders = _inside(1 - (x / 0.85) ** 2 - ((y - 1.25) / 0.5) ** 2, 0.15)
    _paint(image, shoulders, np.array(who.shirt))
    neck = _inside(0.2 - np.abs(x), 0.03) * (y > 0.4) * (y < 0.95)
    _paint(image, neck, 0.86 * skin)
    tall = who.head / 2
    _paint(image, _ellipse(x, y - 0.08, 0.56, tall + 0.04) * (y < 0.25), hair)
    _paint(image, _inside(1 - (x / half) ** 2 - ((y - 0.12) / tall) ** 2, 0.08), skin)
    _paint(image, _ellipse(x, y + tall - 0.1, 0.5, who.fringe), hair)
    for side in (-1, 1):
        _eye(image, x - side * 0.22, y, who, stare, glance)
        lift = 0.13 + 0.06 * raised
        bow = y + lift - 0.03 * (raised + 0.4) * np.cos(6 * (x - side * 0.22))
        thick = _inside(who.brow - np.abs(bow), 0.015)
        _paint(image, thick * (np.abs(x - side * 0.22) < 0.13), 0.8 * hair)
    _paint(image, 0.5 * _ellipse(x, y - 0.2, 0.35 * who.nose, who.nose), 0.82 * skin)
    _mouth(image, x, y - 0.42 - 0.03 * gape, who, smile, gape)
    return _lit(rng, image, x, y)


def _eye(image: Floats, x: Floats, y: Floats, who: Person, stare: float, glance: float) -> None:
    open_by = 0.048 * who.eyes * (1 + 0.9 * stare)
    white = _ellipse(x, y, 0.095 * who.eyes, open_by)
    _paint(image, white, np.array([0.96, 0.96, 0.95]))
    _paint(image, white * _ellipse(x - glance, y, 0.045, 0.045), np.array([0.22, 0.15, 0.10]))


def _mouth(image: Floats, x: Floats, y: Floats, who: Person, smile: float, gape: float) -> None:
    """Lips around an opening; its corners rise with a smile and come together with a gape."""
    half = 0.5 * who.lips * (1 + 0.22 * max(smile, 0.0) - 0.3 * gape * (smile < 0.5))
    height = y + 0.9 * smile * (x**2 - 0.3 * half**2) / max(half, 0.05)
    opened = 0.11 * gape * np.sqrt(np.clip(1 - (x / half) ** 2, 0, None))
    inside = np.abs(x) < half
    lips = _inside(opened + 0.028 - np.abs(height), 0.02) * inside
    _paint(image, lips, np.array([0.72, 0.34, 0.32]))
    dark = np.array([0.92, 0.90, 0.88]) if smile > 0.5 else np.array([0.25, 0.08, 0.08])
    _paint(image, _inside(opened - 0.008 - np.abs(height), 0.02) * inside, dark)


def _lit(rng: np.random.Generator, image: Floats, x: Floats, y: Floats) -> Floats:
    """Light from the side and from above, of an average that was adjusted."""
    light = 1 + rng.normal(0, 0.08) * x - rng.normal(0.06, 0.05) * y
    lit = image * light[..., None]
    average = 0.55 * (1 + rng.normal(0, 0.01))
    return lit * average / lit.mean()


def _inside(depth: Floats, soft: float) -> Floats:
    """How far a pixel is inside a shape whose depth is positive there: 0 to 1, edges are soft."""
    return np.clip(0.5 + depth / soft, 0.0, 1.0)


def _ellipse(x: Floats, y: Floats, across: float, up: float) -> Floats:
    return _inside(1 - (x / across) ** 2 - (y / max(up, 1e-3)) ** 2, 0.3)


def _paint(image: Floats, cover: Floats, color: Floats) -> None:
    image += cover[..., None] * (color - image)
