"""What the comparison methods share."""

from abc import ABCMeta, abstractmethod
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator

from branchwise._compat import Interval, validate_parameter_constraints
from branchwise._typing import Floats, Matrix
from branchwise.data.checks import check_samples


def as_dense(samples: Matrix) -> Floats:
    """Checked samples as an array of double precision."""
    dense = samples.toarray() if hasattr(samples, "toarray") else samples
    return np.asarray(dense, dtype=np.float64)


class Baseline(BaseEstimator, metaclass=ABCMeta):
    """Base of the methods that embed the samples they were given, and no others.

    A subclass implements `_fit(X)`, which sets ``embedding_``. X is then a dense array of double
    precision, with at least two rows.
    """

    embedding_: Floats
    n_components: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the embedding of the samples X.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self : object
        """
        given = self.get_params(deep=False)
        constraints = {
            name: rule for name, rule in self._parameter_constraints.items() if name in given
        }
        validate_parameter_constraints(constraints, given, type(self).__name__)
        samples = as_dense(check_samples(self, X, ensure_min_samples=2))
        if self.n_components >= len(samples):
            raise ValueError(
                f"n_components={self.n_components} must be less than n_samples={len(samples)}; "
                "lower n_components or add samples."
            )
        self._fit(samples)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Learn the embedding of the samples X and return it.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        embedding : array of shape (n_samples, n_components)
        """
        return self.fit(X).embedding_

    @abstractmethod
    def _fit(self, X: Floats) -> None:
        """Set ``embedding_`` and what else was learned."""
