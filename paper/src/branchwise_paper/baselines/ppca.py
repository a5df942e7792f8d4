"""Probabilistic PCA (`op:mll`), in closed form."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from branchwise._compat import Interval
from branchwise._typing import Floats
from branchwise.data.checks import check_samples
from branchwise.linalg import column_signs

from ._base import Baseline, as_dense
from ._gaussian import centred


def leading_part(Y: Floats, n_components: int) -> tuple[Floats, Floats, float]:
    """Left singular vectors, singular values, and the energy of what these leave of Y.

    Singular values that cannot be told from rounding are zero, and so is a rest made of such:
    what is degenerate must not pass for a tiny noise.

    Parameters
    ----------
    Y : array of shape (n, m)
    n_components : int
        At most min(n, m).

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.ppca import leading_part
    >>> U, s, rest = leading_part(np.diag([3.0, 2.0, 1.0]), 1)
    >>> s.round(12), round(rest, 12)
    (array([3.]), 5.0)
    """
    U, s, _ = linalg.svd(Y, full_matrices=False)
    s = np.where(s > max(Y.shape) * np.finfo(float).eps * s[0], s, 0.0)
    U = U[:, :n_components]
    return U * column_signs(U), s[:n_components], float(np.sum(s[n_components:] ** 2))


def maximum_likelihood(
    Y: Floats, n_components: int, noise_variance: float | None = None
) -> tuple[Floats, Floats, float]:
    """Axes, variances along them, and noise variance of the likeliest PPCA of centred data.

    The covariance WWᵀ + σ²I has the variances ℓ_i = max(λ_i, σ²) along the d leading eigenvectors
    v_i of the sample covariance YᵀY/N, whose eigenvalues are λ_i, and σ² across them; so
    W = V(diag(ℓ) − σ²I)^{1/2}. A σ² that is not given is the mean of the other D − d eigenvalues.

    Parameters
    ----------
    Y : array of shape (n_samples, n_features)
    n_components : int
        At most min(n_samples, n_features).
    noise_variance : float or None

    Returns
    -------
    V : array of shape (n_features, n_components)
        Orthonormal columns.
    variances : array of shape (n_components,)
        In descending order, none below the noise.
    noise_variance : float

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.ppca import maximum_likelihood
    >>> Y = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> V, variances, noise_variance = maximum_likelihood(Y, 1)
    >>> variances.round(12), round(noise_variance, 12)
    (array([2.]), 0.5)
    """
    n, D = Y.shape
    V, s, rest = leading_part(Y.T, n_components)
    if noise_variance is None:
        noise_variance = rest / (n * (D - n_components)) if n_components < D else 0.0
    return V, np.maximum(s**2 / n, noise_variance), noise_variance


def log_density(Y: Floats, V: Floats, variances: Floats, noise_variance: float) -> Floats:
    """Natural logarithm of the normal density of each row, all constants included.

    The covariance has the given variances along the columns of V, and σ² across them.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.ppca import log_density
    >>> log_density(np.zeros((1, 2)), np.eye(2)[:, :1], np.array([1.0]), 1.0).round(6)
    array([-1.837877])
    """
    scores = Y @ V
    D, d = V.shape
    twice = D * np.log(2 * np.pi) + np.sum(np.log(variances)) + (scores**2) @ (1 / variances)
    if d < D:
        # ‖y‖² − ‖Vᵀy‖² would cancel where the noise is small.
        across = np.sum((Y - scores @ V.T) ** 2, axis=1)
        twice += (D - d) * np.log(noise_variance) + across / noise_variance
    return -twice / 2


class PPCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Baseline):
    """Probabilistic PCA: the likeliest normal distribution with d free directions.

    Samples are y = Wx + μ + noise, where x is standard normal in d dimensions and the noise normal
    with variance σ² in every direction. Without x, they are normal:

        max over W, μ, σ² of Σ_i log N(y_i | μ, WWᵀ + σ²I)

    (`op:mll` of the paper, where γ = 1/σ² is given). The solution is in closed form: μ the mean,
    σ² the mean of the discarded eigenvalues of the sample covariance, and W spans the principal
    axes [1]_. Choose it over PCA for what a density gives: a likelihood by which to compare
    numbers of components, scores of new samples, and an embedding that shrinks what is mostly
    noise. It is what `branchwise.SPL` starts from: without neighbours SPL is PPCA with orthonormal
    W and noise variance 1/γ.

    Parameters
    ----------
    n_components : int, default=2
        Dimension d of x. Beyond the number of features, further columns are zero.
    noise_variance : float or None, default=None
        σ², if it is known. None is the likeliest.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Posterior means E[x | y] = (WᵀW + σ²I)⁻¹Wᵀ(y − μ), as of `transform`.
    components_ : array of shape (n_components, n_features)
        Wᵀ: orthogonal rows, not of unit length but as long as the data spread along them beyond
        the noise, as in scikit-learn's FactorAnalysis. They are determined up to rotation; here the
        longest come first.
    mean_ : array of shape (n_features,)
    noise_variance_ : float
    log_likelihood_ : float
        Σ_i log p(y_i), natural logarithm, all constants. Infinite where the samples lie in d or
        fewer dimensions of more features: the noise may then be as small as one likes.
    n_features_in_ : int

    Notes
    -----
    **What was hard.** Little, in a closed form; what had to be decided is what happens at its
    edges.

    - σ² averages over all D − d discarded eigenvalues. With fewer samples than features most of
      them are zero, and they count. scikit-learn's PCA leaves them out there, and has N − 1 where
      the likelihood is largest for N: its ``score`` is that of a slightly different distribution.
    - With d ≥ D nothing is discarded and the likelihood is the same for every σ² up to the smallest
      eigenvalue, since WWᵀ makes up for it. It is set to zero: the components explain all.
    - If the samples span no more than d < D dimensions, σ² = 0 and the likelihood is infinite.
      Rounding would make a large finite number of it, so eigenvalues that are rounding are set to
      zero first. The embedding is defined all the same, and `score` says what to do.
    - A given σ² may exceed an eigenvalue. The likeliest column of W is then zero.
    - Tipping and Bishop's W is free and the paper's projection orthonormal. Without edges,
      ``SPL.log_evidence_`` is thus the likelihood of one W among many, and at most that of
      ``PPCA(noise_variance=1/gamma)``; they are equal where the leading eigenvalues are 1 + σ².

    References
    ----------
    .. [1] Tipping, Bishop (1999), "Probabilistic principal component analysis", Journal of the
       Royal Statistical Society B 61, 611-622, doi:10.1111/1467-9868.00196.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import PPCA
    >>> X = load_iris().data
    >>> model = PPCA(n_components=2).fit(X)
    >>> model.embedding_.shape, round(model.noise_variance_, 4)
    ((150, 2), 0.0507)
    >>> round(model.log_likelihood_, 2), round(model.score(X), 4)
    (-404.96, -2.6998)
    """

    components_: Floats
    mean_: Floats
    noise_variance_: float
    log_likelihood_: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(self, n_components: int = 2, *, noise_variance: float | None = None):
        self.n_components = n_components
        self.noise_variance = noise_variance

    def _fit(self, X: Floats) -> None:
        self.mean_ = X.mean(axis=0)
        Y, d = centred(X), min(self.n_components, X.shape[1])
        self._axes, self._variances, self.noise_variance_ = maximum_likelihood(
            Y, d, self.noise_variance
        )
        self.components_ = np.zeros((self.n_components, X.shape[1]))
        self.components_[:d] = (self._axes * self._loadings()).T
        self.embedding_ = self._posterior_mean(Y)
        self.log_likelihood_ = float(np.sum(self._log_density(Y))) if self._is_proper() else np.inf

    def transform(self, X: Any) -> Floats:
        """Posterior means of x, given samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        embedding : array of shape (n_samples, n_components)
        """
        return self._posterior_mean(self._centred(X))

    def score_samples(self, X: Any) -> Floats:
        """Log-density of each sample, natural logarithm, all constants.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        log_density : array of shape (n_samples,)
        """
        Y = self._centred(X)
        if not self._is_proper():
            raise ValueError(
                f"n_components={self.n_components} must be less than the number of dimensions in "
                "which the samples of the fit vary, or there is no noise and no density; lower "
                "n_components or set noise_variance."
            )
        return self._log_density(Y)

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        log_density : float
        """
        return float(np.mean(self.score_samples(X)))

    def get_covariance(self) -> Floats:
        """The covariance WWᵀ + σ²I of the samples.

        Returns
        -------
        covariance : array of shape (n_features, n_features)
        """
        check_is_fitted(self)
        W = self.components_.T
        return W @ W.T + self.noise_variance_ * np.eye(len(W))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def _centred(self, X: Any) -> Floats:
        check_is_fitted(self)
        return as_dense(check_samples(self, X, reset=False)) - self.mean_

    def _loadings(self) -> Floats:
        return np.sqrt(self._variances - self.noise_variance_)

    def _posterior_mean(self, Y: Floats) -> Floats:
        """WᵀW + σ²I is the diagonal of the variances; where these are zero, so is W."""
        length = self._loadings()
        shrink = np.divide(length, self._variances, out=np.zeros_like(length), where=length > 0)
        means = np.zeros((len(Y), self.n_components))
        means[:, : len(shrink)] = Y @ self._axes * shrink
        return means

    def _is_proper(self) -> bool:
        """Whether the normal distribution has a density."""
        D, d = self._axes.shape
        return bool(self._variances[-1] > 0 and (d == D or self.noise_variance_ > 0))

    def _log_density(self, Y: Floats) -> Floats:
        return log_density(Y, self._axes, self._variances, self.noise_variance_)
