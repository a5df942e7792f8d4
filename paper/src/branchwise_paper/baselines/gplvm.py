"""The Gaussian process latent variable model (`eq:gplvm`), linear and not."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy import linalg, optimize
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from branchwise._compat import Interval, StrOptions
from branchwise._typing import Floats
from branchwise.linalg import column_signs

from ._base import Baseline
from ._gaussian import centred
from .ppca import leading_part

# Of data with unit mean square. Within these bounds the covariance can be factorised.
MAX_VARIANCE, MIN_NOISE, MAX_NOISE = 1e4, 1e-6, 10.0
MAX_LENGTH = 1e3
START_NOISE = 0.01
N_CORRECTIONS = 20


class Latent(NamedTuple):
    """Latent points, and the parameters of their covariance."""

    X: Floats
    variance: float
    lengthscale: float
    noise_variance: float


class Result(NamedTuple):
    """The likeliest latent points that were found, and how."""

    latent: Latent
    history: list[float]
    converged: bool


def linear_latent(
    Y: Floats, n_components: int, noise_variance: float | None = None
) -> tuple[Floats, float, float]:
    """Latent points, noise variance and log-likelihood at the maximum for a linear kernel.

    max over X, σ² of log p(Y | X) = −D/2·log|2πK| − ½·Tr(K⁻¹YYᵀ) with K = XXᵀ + σ²I. With the
    eigenvalues λ_i of YYᵀ/D and their eigenvectors U, X = U(Λ − σ²I)₊^{1/2} of the d largest. A σ²
    that is not given is the mean of the other N − d.

    Parameters
    ----------
    Y : array of shape (n_samples, n_features)
    n_components : int
        Less than n_samples. Columns beyond n_features are zero.
    noise_variance : float or None

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.gplvm import linear_latent
    >>> Y = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> X, noise_variance, _ = linear_latent(Y, 1)
    >>> np.abs(X.ravel()).round(6), round(noise_variance, 6)
    (array([1.354006, 1.354006, 0.      , 0.      ]), 0.333333)
    """
    N, D = Y.shape
    d = min(n_components, D)
    U, s, rest = leading_part(Y, d)
    if noise_variance is None:
        noise_variance = rest / (D * (N - n_components))
    variances = np.maximum(s**2 / D, noise_variance)
    X = np.zeros((N, n_components))
    X[:, :d] = U * np.sqrt(variances - noise_variance)
    if noise_variance == 0:
        return X, noise_variance, np.inf
    log_det = np.sum(np.log(variances)) + (N - d) * np.log(noise_variance)
    trace = np.sum(s**2 / variances) + rest / noise_variance
    return X, noise_variance, -float(D * (N * np.log(2 * np.pi) + log_det) + trace) / 2


def rbf_log_likelihood(Y: Floats, n_features: int, latent: Latent) -> tuple[float, Floats, Floats]:
    """Log-likelihood for a Gaussian kernel, and its gradient.

    log p(Y | X) = −D/2·log|2πK| − ½·Tr(K⁻¹YYᵀ), K_ij = σ_f²·exp(−‖x_i − x_j‖²/2ℓ²) + σ²·δ_ij.

    Parameters
    ----------
    Y : array of shape (n_samples, any)
        Data, or anything with the same YYᵀ.
    n_features : int
        D.
    latent : Latent

    Returns
    -------
    log_likelihood : float
    by_points : array of the shape of X
        Gradient with respect to X.
    by_logarithms : array of shape (3,)
        Gradient with respect to log σ_f², log ℓ and log σ².

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.gplvm import Latent, rbf_log_likelihood
    >>> latent = Latent(np.array([[0.0], [9.0]]), 1.0, 0.1, 1.0)  # far apart: N(0, 2I)
    >>> round(rbf_log_likelihood(np.eye(2), 2, latent)[0], 6)
    -5.562048
    """
    X, variance, lengthscale, noise_variance = latent
    n = len(X)
    distances = squareform(pdist(X / lengthscale, "sqeuclidean"))
    signal = variance * np.exp(-distances / 2)
    K = signal.copy()
    K[np.diag_indices(n)] += noise_variance
    factor = linalg.cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    half = linalg.solve_triangular(factor, Y, lower=True, check_finite=False)
    log_det = 2 * np.sum(np.log(np.diag(factor)))
    value = -(n_features * (n * np.log(2 * np.pi) + log_det) + np.sum(half**2)) / 2
    solved = linalg.solve_triangular(factor, half, lower=True, trans=1, check_finite=False)
    inverse = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    by_covariance = (solved @ solved.T - n_features * inverse) / 2
    by_signal = by_covariance * signal
    pull = by_signal @ X - by_signal.sum(axis=1)[:, None] * X
    by_logarithms = np.array(
        [
            by_signal.sum(),
            np.sum(by_signal * distances),
            noise_variance * np.trace(by_covariance),
        ]
    )
    return float(value), 2 / lengthscale**2 * pull, by_logarithms


def maximise_rbf(
    Y: Floats,
    n_features: int,
    start: Latent,
    *,
    learn_noise: bool = True,
    max_iter: int,
    tol: float,
) -> Result:
    """Climb the log-likelihood for a Gaussian kernel by L-BFGS, within bounds.

    Parameters
    ----------
    Y, n_features, start
        See `rbf_log_likelihood`.
    learn_noise : bool
        Whether σ² is free.
    max_iter : int
    tol : float
        Stop when an iteration gains no more than this, per entry of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.gplvm import Latent, maximise_rbf
    >>> X = np.linspace(-2, 2, 20)[:, None]
    >>> Y = np.hstack([np.sin(X), np.cos(X)])
    >>> result = maximise_rbf(Y, 2, Latent(X, 1.0, 1.0, 0.01), max_iter=10, tol=0)
    >>> len(result.history), bool((np.diff(result.history) > 0).all())
    (11, True)
    """
    n, d = start.X.shape
    n_entries = n * n_features

    def unpack(parameters: Floats) -> Latent:
        variance, lengthscale, noise_variance = np.exp(parameters[-3:])
        return Latent(parameters[:-3].reshape(n, d), variance, lengthscale, noise_variance)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        value, by_points, by_logarithms = rbf_log_likelihood(Y, n_features, unpack(parameters))
        return -value / n_entries, -np.concatenate([by_points.ravel(), by_logarithms]) / n_entries

    noise = (MIN_NOISE, MAX_NOISE) if learn_noise else (start.noise_variance,) * 2
    limits = np.log([(1 / MAX_VARIANCE, MAX_VARIANCE), (1 / MAX_LENGTH, MAX_LENGTH), noise])
    first = np.concatenate([start.X.ravel(), np.log(start[1:])])
    history = [-n_entries * loss(first)[0]]
    found = optimize.minimize(
        loss,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=[(None, None)] * (n * d) + [tuple(pair) for pair in limits],
        callback=lambda intermediate_result: history.append(-n_entries * intermediate_result.fun),
        options={"maxiter": max_iter, "maxfun": 100 * max_iter, "maxcor": N_CORRECTIONS}
        | {"ftol": tol, "gtol": 0.0},
    )
    return Result(unpack(found.x), history, found.status == 0)


def principal_start(Y: Floats, n_components: int, noise_variance: float | None = None) -> Latent:
    """Principal scores as latent points, of unit mean square, with a length scale to match.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.gplvm import principal_start
    >>> start = principal_start(np.array([[1.0, 1.0], [-1.0, -1.0]]), 1)
    >>> np.abs(start.X.ravel()).round(6), start.lengthscale
    (array([1., 1.]), 1.0)
    """
    d = min(n_components, Y.shape[1])
    U, s, _ = leading_part(Y, d)
    X = np.zeros((len(Y), n_components))
    X[:, :d] = U * (s * np.sqrt(len(Y)) / linalg.norm(s))
    return Latent(X, 1.0, 1.0, START_NOISE if noise_variance is None else noise_variance)


def along_principal_axes(X: Floats) -> Floats:
    """The same points, centred and turned so that their spread falls from column to column."""
    centred = X - X.mean(axis=0)
    U, s, _ = linalg.svd(centred, full_matrices=False)
    return U * column_signs(U) * s


class GPLVM(Baseline):
    """Gaussian process latent variable model: points from which the features are smooth functions.

    Every feature is an independent Gaussian process over latent points X, plus noise of variance
    σ² = 1/γ. The points are those under which the centred data Y are likeliest (`eq:gplvm`):

        max over X, σ² and the kernel's parameters of −D/2·log|2πK| − ½·Tr(K⁻¹YYᵀ)

    with K = XXᵀ + σ²I for ``kernel="linear"``, and K_ij = σ_f²·exp(−‖x_i − x_j‖²/2ℓ²) + σ²·δ_ij for
    "rbf" [1]_. The linear model is the dual of `PPCA`, is solved in closed form, and its points are
    the principal scores up to the scale of the columns. Choose "rbf" for few samples on a curved
    surface of few dimensions, when a density matters more than time; no neighbour graph is
    needed, and no neighbourhood is kept.

    Parameters
    ----------
    n_components : int, default=2
        Dimension d of the latent points.
    kernel : {"linear", "rbf"}, default="linear"
    noise_variance : float or None, default=None
        σ², if it is known. None is the likeliest.
    max_iter : int, default=200
        Most iterations of L-BFGS; not used by "linear".
    tol : float, default=1e-6
        Stop when an iteration gains no more log-likelihood than this, per entry of the data; not
        used by "linear".

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        The latent points, centred and along their principal axes: neither a rotation nor, for
        "rbf", a shift changes the likelihood.
    log_likelihood_ : float
        log p(Y | X), natural logarithm, all constants, in units of the data. Infinite for "linear"
        where the samples vary in d or fewer dimensions, and for samples that are all equal.
    noise_variance_ : float
    variance_, lengthscale_ : float
        σ_f² and ℓ of "rbf", unless all samples are equal. Only the ratio of X and ℓ has a meaning.
    objective_history_ : array of shape (n_iter_ + 1,)
        The log-likelihood at the start and after each iteration.
    n_iter_ : int
        Zero for "linear".
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    **What was hard.**

    - The likelihood for "rbf" has many local maxima, and which is found depends on the start: here
      the principal scores, of unit mean square whatever d is, with ℓ = 1. Were each column of unit
      variance, distances would grow with √d, K would be the identity up to rounding in tens of
      dimensions, and the gradient zero.
    - No prior is put on X, as in the paper's `eq:gplvm` and in GPy. The likelihood then does not
      change when X and ℓ grow together, and its maximum is a ridge, which L-BFGS does not mind. Nor
      is there an upper bound where σ² → 0 and the points can follow all features. So σ² is at
      least 1e-6 of the mean variance of the features, and σ_f² at most 1e4 of it: K can always be
      factorised.
    - Data are divided by their overall standard deviation first, so that ``tol`` and the bounds
      mean the same in all units; ``log_likelihood_`` and the variances are those of the data as
      given.
    - An iteration for "rbf" takes O(n_samples³) time, on one thread, for rounding decides between
      maxima and should not depend on the number of threads: some 0.1 s for 1,000 samples and
      0.6 s for 2,000, so that 200 iterations take two minutes there.
    - A linear GPLVM discards N − d eigenvalues of YYᵀ/D, most of them zero, and not PPCA's D − d of
      YᵀY/N. Beside the eigenvalues that are kept, which grow with N, σ² is tiny, and X are nearly
      the principal scores over √D.
    - The paper took parameters from a toolbox whose GPLVM, in one of its published versions, has a
      Gaussian kernel of unit width, neither noise nor other parameters, and hands the
      log-likelihood, not its negative, to a minimiser. It starts at the principal scores and
      cannot leave them where the determinant of K underflows. That is so for four of six sets of
      the table (Iris, COIL20, Pendigits, Segment), and there the printed values are those of PCA.
      For the other two, USPS and Isolet, it moves away from the maximum, and the printed values
      are far below. That the paper ran this version is an inference from these numbers.

    References
    ----------
    .. [1] Lawrence (2005), "Probabilistic non-linear principal component analysis with Gaussian
       process latent variable models", Journal of Machine Learning Research 6, 1783-1816.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import GPLVM
    >>> X = load_iris().data
    >>> linear = GPLVM(n_components=2).fit(X)
    >>> curved = GPLVM(n_components=2, kernel="rbf", tol=1e-4).fit(X)
    >>> curved.embedding_.shape, curved.converged_
    ((150, 2), True)
    >>> bool((curved.objective_history_[1:] >= curved.objective_history_[:-1]).all())
    True
    """

    log_likelihood_: float
    noise_variance_: float

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "kernel": [StrOptions({"linear", "rbf"})],
        "noise_variance": [Interval(Real, 0, None, closed="neither"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: str = "linear",
        noise_variance: float | None = None,
        max_iter: int = 200,
        tol: float = 1e-6,
    ):
        self.n_components = n_components
        self.kernel = kernel
        self.noise_variance = noise_variance
        self.max_iter = max_iter
        self.tol = tol

    def _fit(self, X: Floats) -> None:
        Y = centred(X)
        scale = float(np.sqrt(np.mean(Y**2)))
        if self.kernel == "rbf" and scale > 0:
            with threadpool_limits(limits=1):
                self._fit_rbf(Y / scale, scale)
            return
        self.embedding_, self.noise_variance_, self.log_likelihood_ = linear_latent(
            Y, self.n_components, self.noise_variance
        )
        self.objective_history_ = np.array([self.log_likelihood_])
        self.n_iter_, self.converged_ = 0, True

    def _fit_rbf(self, Y: Floats, scale: float) -> None:
        """Fit data of unit mean square; `scale` is what they were divided by."""
        n, D = Y.shape
        noise = None if self.noise_variance is None else self.noise_variance / scale**2
        if noise is not None and noise < MIN_NOISE:
            raise ValueError(
                f"noise_variance={self.noise_variance} must be at least {MIN_NOISE:g} of the mean "
                f"variance of the features, {scale**2:.3g}, for kernel='rbf'; raise it, or set "
                "noise_variance=None to learn it."
            )
        # The likelihood depends on YYᵀ only.
        reduced = Y if n >= D else linalg.qr(Y.T, mode="r")[0][:n].T
        result = maximise_rbf(
            reduced,
            D,
            principal_start(Y, self.n_components, noise),
            learn_noise=noise is None,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        self.embedding_ = along_principal_axes(result.latent.X)
        self.variance_ = result.latent.variance * scale**2
        self.lengthscale_ = result.latent.lengthscale
        self.noise_variance_ = result.latent.noise_variance * scale**2
        self.objective_history_ = np.array(result.history) - n * D * np.log(scale)
        self.log_likelihood_ = float(self.objective_history_[-1])
        self.n_iter_, self.converged_ = len(result.history) - 1, result.converged
        if not self.converged_ and self.tol > 0:
            gain = np.diff(self.objective_history_[-2:]).sum() / (n * D)
            warnings.warn(
                f"GPLVM stopped after {self.n_iter_} of max_iter={self.max_iter} iterations with a "
                f"gain of {gain:.1e} per entry of the data, above tol={self.tol:.1e}; raise "
                "max_iter or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
