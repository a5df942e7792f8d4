"""Normal scores of ranks, frozen as a table of values and their scores for each feature."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .._typing import Floats, Ints

# So many values are kept of a feature at most.
MAX_KNOTS = 1000
# Blom's: the score of rank r among N is the normal quantile of (r − 3/8)/(N + 1/4).
BLOM = 0.375


class NormalScores(NamedTuple):
    """The normal score of each value's rank in the training data.

    Between two values of the table scores are interpolated; beyond it they are those of its ends.
    The values of feature j are ``values[offsets[j]:offsets[j + 1]]``.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.ranks import NormalScores
    >>> table = NormalScores.fit(np.array([[1.0], [10.0], [100.0]]))
    >>> table.apply(np.array([[1.0], [10.0], [100.0], [55.0], [1e6]])).round(2).ravel()
    array([-0.87,  0.  ,  0.87,  0.43,  0.87])
    """

    values: Floats
    scores: Floats
    offsets: Ints

    @classmethod
    def fit(cls, X: Floats) -> "NormalScores":
        """The table of each feature."""
        tables = [knots(*blom_scores(column)) for column in X.T]
        values, scores = (np.concatenate(parts) for parts in zip(*tables, strict=True))
        sizes = [len(table[0]) for table in tables]
        return cls(values, scores, np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp))

    def apply(self, X: Floats) -> Floats:
        """The scores of the values of X."""
        out = np.empty(X.shape)
        for j, column in enumerate(X.T):
            part = slice(self.offsets[j], self.offsets[j + 1])
            out[:, j] = interpolate(column, self.values[part], self.scores[part])
        return out


def blom_scores(x: Floats) -> tuple[Floats, Floats]:
    """The distinct values in order, and the normal scores of their ranks; equals share one.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.ranks import blom_scores
    >>> values, scores = blom_scores(np.array([3.0, 1.0, 3.0, 4.0]))
    >>> values, scores.round(3)
    (array([1., 3., 4.]), array([-1.049,  0.   ,  1.049]))
    """
    values, counts = np.unique(x, return_counts=True)
    rank = np.cumsum(counts) - (counts - 1) / 2
    return values, ndtri((rank - BLOM) / (len(x) + 1 - 2 * BLOM))


def knots(values: Floats, scores: Floats) -> tuple[Floats, Floats]:
    """At most `MAX_KNOTS` of the values, so that interpolation misses no score by a step or more.

    A step is the range of the scores divided into ``MAX_KNOTS / 2 − 1``: below 0.02 for a million
    samples. The values next to every multiple of it are kept, on either side, so that a value that
    was left out lies between two whose scores are within one step. That holds for any distribution,
    as scores never fall; a jump at a value that many samples share stays one.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.ranks import blom_scores, knots
    >>> values, scores = blom_scores(np.random.default_rng(0).normal(size=5000))
    >>> len(knots(values, scores)[0]) <= 1000
    True
    """
    if len(values) <= MAX_KNOTS:
        return values, scores
    grid = np.linspace(scores[0], scores[-1], MAX_KNOTS // 2)
    above = np.searchsorted(scores, grid, side="left")
    below = np.searchsorted(scores, grid, side="right") - 1
    kept = np.unique(np.concatenate([above, below]))
    return values[kept], scores[kept]


def interpolate(x: Floats, values: Floats, scores: Floats) -> Floats:
    """Scores at x: exact at the values, constant beyond them.

    Unlike `numpy.interp`, it divides by no gap before it has multiplied: values may be as near to
    each other as numbers get.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.ranks import interpolate
    >>> interpolate(np.array([-1.0, 0.5, 9.0]), np.array([0.0, 1.0]), np.array([-2.0, 2.0]))
    array([-2.,  0.,  2.])
    """
    if len(values) == 1:
        return np.full(len(x), scores[0])
    x = np.clip(x, values[0], values[-1])
    k = np.minimum(np.searchsorted(values, x, side="right") - 1, len(values) - 2)
    part = (x - values[k]) / (values[k + 1] - values[k])
    return (1 - part) * scores[k] + part * scores[k + 1]
