"""The posterior of a fitted SPL: per sample, and any covariance, expected distance or sample."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .._compat import effective_n_jobs
from .._memory import check_memory
from .._typing import Floats, Ints, Sparse
from ..data.checks import check_count, check_pairs
from ..solvers.posterior import (
    Precision,
    covariances,
    expected_squared_distances,
    log_evidence,
    loo_log_likelihood,
    sample_rows,
)
from ..solvers.spl import SPLProblem, SPLState


class PosteriorMixin:
    """Methods of an estimator whose posterior is matrix normal over a weighted graph.

    All answers are in units of the data.
    """

    embedding_: Floats
    graph_: Sparse
    scale_: float
    solver_: str
    gamma_: float
    n_jobs: int | None

    def posterior_covariance(self, i: Any, j: Any) -> Any:
        """Covariance of samples i and j in each column of the embedding: Σ_ij (`eq:post`).

        Σ = (4L + (γ+1)I)⁻¹; different columns are independent. Only the columns of Σ that the
        pairs need are computed.

        Parameters
        ----------
        i, j : int or array of int
            Rows of the training data, broadcast against each other.

        Returns
        -------
        covariance : float or array
            In squared units of the data.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import SPL
        >>> model = SPL().fit(load_iris().data)
        >>> variance = model.posterior_covariance(0, 0)
        >>> bool(abs(variance - model.posterior_std_[0] ** 2) < 1e-12)
        True
        >>> model.posterior_covariance(0, [1, 2, 3]).shape
        (3,)
        """
        check_is_fitted(self)
        rows = check_pairs(i, j, len(self.embedding_))
        with threadpool_limits(limits=1):
            entries = covariances(self._precision(), rows.i, rows.j)
        return rows.shaped(entries / self.scale_**2)

    def expected_squared_distances(self, i: Any, j: Any) -> Any:
        """E‖x_i − x_j‖² under the posterior, for any pairs of training samples.

        ‖m_i − m_j‖² + d·(Σ_ii + Σ_jj − 2Σ_ij), where m_i are the rows of the posterior mean: what
        `op:ebi-W` bounds by ‖y_i − y_j‖² + ξ_ij for neighbours.

        Parameters
        ----------
        i, j : int or array of int
            Rows of the training data, broadcast against each other.

        Returns
        -------
        distances : float or array
            In squared units of the data.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import SPL
        >>> X = load_iris().data
        >>> model = SPL(C=1e6).fit(X)
        >>> i, j = model.edges_.T  # neighbours, held together
        >>> expected = model.expected_squared_distances(i, j)
        >>> bool((expected <= ((X[i] - X[j]) ** 2).sum(axis=1) + 0.01).all())
        True
        """
        check_is_fitted(self)
        rows = check_pairs(i, j, len(self.embedding_))
        with threadpool_limits(limits=1):
            distances = expected_squared_distances(
                self._precision(), self._posterior_mean() * self.scale_, rows.i, rows.j
            )
        return rows.shaped(distances / self.scale_**2)

    def sample_posterior(self, n_samples: int, random_state: Any = None) -> Floats:
        """Draw whole embeddings from the posterior q(X) (`eq:post`).

        Parameters
        ----------
        n_samples : int
            How many embeddings to draw.
        random_state : int, RandomState or None, default=None
            Seed.

        Returns
        -------
        X : array of shape (n_samples, number of training samples, n_components)
            Scattered about the posterior mean, ``embedding_``. With ``gamma=0`` the mean is zero:
            ``embedding_`` is then the kernel PCA of the covariance.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from branchwise import SPL
        >>> model = SPL().fit(load_iris().data)
        >>> model.sample_posterior(5, random_state=0).shape
        (5, 150, 2)
        """
        check_is_fitted(self)
        n_samples = check_count(n_samples, "n_samples")
        mean = self._posterior_mean()
        shape = (n_samples, *mean.shape)
        check_memory(
            3.0 * 8 * n_samples * mean.size,
            f"Drawing {n_samples:,} embeddings of {len(mean):,} samples",
            "draw fewer at a time",
        )
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        with threadpool_limits(limits=1):
            columns = sample_rows(self._precision(), n_samples * mean.shape[1], rng)
        drawn = columns.T.reshape(n_samples, mean.shape[1], len(mean)).transpose(0, 2, 1)
        out = np.empty(shape, dtype=self.embedding_.dtype)
        np.add(mean, drawn / self.scale_, out=out, casting="same_kind")
        return out

    def _set_posterior(
        self, problem: SPLProblem, state: SPLState, order: Ints, n_features: int
    ) -> None:
        """What the posterior says of each sample, and the evidence, in units of the data."""
        per_sample = np.empty((3, len(order)))
        shift = n_features * np.log(self.scale_)
        std = np.sqrt(state.diagonal) / (2 * self.scale_)
        loo = loo_log_likelihood(problem, state, n_features) + shift
        per_sample[:, order] = std, std * state.diagonal_error / (2 * state.diagonal), loo
        self.posterior_std_, self.posterior_std_error_, self.loo_log_likelihood_ = per_sample
        evidence = log_evidence(problem, state, n_features)
        self.log_evidence_ = evidence + len(order) * shift

    def _posterior_mean(self) -> Floats:
        mean = self.embedding_.astype(np.float64)
        return mean if self.gamma_ > 0 else np.zeros_like(mean)

    def _precision(self) -> Precision:
        active = sparse.coo_array(sparse.triu(self.graph_))
        return Precision(
            np.column_stack([active.row, active.col]).astype(np.intp),
            active.data,
            len(self.embedding_),
            (self.gamma_ + 1) / 4,
            self.solver_,
            effective_n_jobs(self.n_jobs),
        )
