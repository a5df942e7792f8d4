"""What covariates do not explain: residuals of linear regressions, in the features' units."""

from typing import Any, NamedTuple

import numpy as np

from .._typing import Bools, Floats
from .covariates import Levels, choose_levels, encode
from .products import centred_product

# What is left of a feature counts as rounding below this part of its spread, or so many units in
# the last place of its values.
SPREAD_RTOL = 1e-12
N_ULPS = 10


class Residuals(NamedTuple):
    """Every feature less what the covariates tell of it, plus its mean.

    x − (z − z̄)·B, where z are the encoded covariates, and z̄ and B their means and coefficients in
    the training data. A feature that the covariates determine but for rounding has no residual: it
    is its mean, in every table.

    Examples
    --------
    >>> import numpy as np
    >>> from ramify.preparation.residuals import Residuals
    >>> X = np.array([[1.0], [2.0], [3.0], [2.0]])
    >>> sex = {"sex": ["f", "m", "m", "f"]}
    >>> step = Residuals.fit(X, sex, ["sex"])
    >>> step.apply(X, step.design(sex)).ravel()
    array([1.5, 1.5, 2.5, 2.5])
    """

    names: list[str]
    levels: list[Levels]
    center: Floats
    coefficients: Floats
    mean: Floats
    is_explained: Bools

    @classmethod
    def fit(
        cls, X: Floats, covariates: Any, names: list[str], eps: float = np.finfo(np.float64).eps
    ) -> "Residuals":
        """Regress each feature on the covariates; `eps` is the precision that the data came in."""
        levels = [choose_levels(covariates[name], name) for name in names]
        Z = design(covariates, names, levels)
        center, mean = Z.mean(axis=0), X.mean(axis=0)
        size = np.abs(Z - center).max(axis=0, initial=0.0)
        size[size == 0] = 1.0
        A, Y = (Z - center) / size, X - mean
        # Columns that depend on one another, or none at all, are no obstacle.
        B, _, rank, _ = np.linalg.lstsq(A, Y, rcond=None)
        if rank + 1 >= len(X):
            raise ValueError(
                f"adjust={names} has {rank} independent columns, which explain n_samples={len(X)} "
                "completely and leave no residual; adjust for fewer covariates or levels, or add "
                "samples."
            )
        left = _rms(Y - A @ B)
        is_explained = left <= SPREAD_RTOL * _rms(Y) + N_ULPS * eps * _rms(X)
        return cls(names, levels, center, B / size[:, np.newaxis], mean, is_explained)

    def design(self, covariates: Any) -> Floats:
        """The covariates, encoded as in fit."""
        return design(covariates, self.names, self.levels)

    def apply(self, X: Floats, Z: Floats) -> Floats:
        """What is left of X, given the encoded covariates, by the same sums for any rows."""
        left = X - centred_product(Z, self.center, self.coefficients)
        return np.where(self.is_explained, self.mean, left)


def design(covariates: Any, names: list[str], levels: list[Levels]) -> Floats:
    """The encoded covariates side by side.

    Examples
    --------
    >>> from ramify.preparation.residuals import design
    >>> design({"age": [31, 45], "sex": ["f", "m"]}, ["age", "sex"], [None, ["f", "m"]])
    array([[31.,  0.],
           [45.,  1.]])
    """
    columns = [encode(covariates[name], of, name) for name, of in zip(names, levels, strict=True)]
    return np.ascontiguousarray(np.hstack(columns))


def _rms(X: Floats) -> Floats:
    return np.sqrt(np.einsum("ij,ij->j", X, X) / len(X))
