"""The paper's comparison methods that scikit-learn has, under the paper's names and settings.

The settings are those of the toolbox with which the paper ran them, drtoolbox. PCA and, in one and
two dimensions, t-SNE are scikit-learn's. The others are a few lines around our own eigensolver,
which the tests compare with scikit-learn's: this gives all of them one treatment of neighbour
graphs in several parts, no random starts, and fixed signs.

**Neighbour graphs in several parts.** Isomap, LE and LLE need a connected graph. drtoolbox embeds
the largest part and drops the other samples, which changes what a leave-one-out table measures.
Here every sample is kept: the edges of the Euclidean minimum spanning tree that lead from part
to part are added, which are the shortest that can join them. The fitted ``n_parts_`` is the number
of parts before that; 1 means that nothing was added.
"""

from abc import abstractmethod
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn import decomposition, manifold
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from branchwise._compat import Interval
from branchwise._typing import Floats
from branchwise.data.checks import check_n_neighbors
from branchwise.data.kernels import kernel_matrix
from branchwise.graph import adjacency, squared_distances
from branchwise.linalg import kernel_pca

from ._base import Baseline
from ._gaussian import centred
from .exact_tsne import affinities, exact_tsne
from .spectral import (
    connected_neighbors,
    geodesics,
    join_parts,
    laplacian_eigenmap,
    locally_linear,
    reconstruction_weights,
)

# Of widths, whose squares must neither overflow nor vanish.
WIDTH = [Interval(Real, 1e-100, 1e100, closed="both")]
POSITIVE = [Interval(Real, 0, None, closed="neither")]
COUNT = [Interval(Integral, 1, None, closed="left")]


def principal_components(X: Floats, n_components: int) -> decomposition.PCA:
    """Scikit-learn's PCA, without random numbers."""
    # If all samples are equal, their ratios of variance are 0/0; we do not use them.
    with np.errstate(invalid="ignore"):
        return decomposition.PCA(n_components, svd_solver="full").fit(X)


def of_moderate_size(X: Floats) -> Floats:
    """Samples whose squares neither overflow nor vanish in single precision; most are as given.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise_paper.baselines.known import of_moderate_size
    >>> X = np.array([[0.0], [2.0]])
    >>> of_moderate_size(X) is X, of_moderate_size(1e99 * X).tolist()
    (True, [[-1.0], [1.0]])
    """
    Y = centred(X)
    size = float(np.abs(Y).max())
    return X if size == 0 or 1e-9 < size < 1e9 else Y / size


class PCA(Baseline):
    """Principal component analysis: scikit-learn's, by a full singular value decomposition.

    Minimises over matrices W with orthonormal columns

        Σ_i ‖y_i − WWᵀy_i‖²,    y_i the centred samples

    (Pearson 1901; Hotelling 1933). The embedding consists of the scores Wᵀy_i. Choose it first: it
    is the start of most other methods here, and in the paper's table hard to beat.

    Parameters
    ----------
    n_components : int, default=2
        At most the number of features.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    components_ : array of shape (n_components, n_features)
        Wᵀ.
    mean_ : array of shape (n_features,)

    Notes
    -----
    **What was hard.** Nothing but the choice of the solver: what scikit-learn chooses for large
    data is random, and the full decomposition is not.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import PCA
    >>> PCA(2).fit_transform(load_iris().data).shape
    (150, 2)
    """

    def __init__(self, n_components: int = 2):
        self.n_components = n_components

    def _fit(self, X: Floats) -> None:
        if self.n_components > X.shape[1]:
            raise ValueError(
                f"n_components={self.n_components} must be at most n_features={X.shape[1]}; lower "
                "n_components or add features."
            )
        model = principal_components(X, self.n_components)
        self.embedding_ = model.transform(X)
        self.components_, self.mean_ = model.components_, model.mean_


class KPCA(Baseline):
    """Kernel principal component analysis with a Gaussian kernel.

    Maximises, over orthonormal directions v in the space of the features φ(x),

        Σ_i ⟨v, φ(x_i) − φ̄⟩²,    ⟨φ(x), φ(x')⟩ = exp(−‖x − x'‖²/(2σ²))

    (Schölkopf, Smola & Müller 1998). The embedding consists of the scores: the leading
    eigenvectors of the centred kernel matrix, times the square roots of their eigenvalues. Choose
    it for data whose scale σ is known; as σ grows, σ times the scores become those of PCA.

    Parameters
    ----------
    n_components : int, default=2
    sigma : float, default=1.0
        The width σ of the kernel, in the units of the data; 1 is the default of drtoolbox.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)

    Notes
    -----
    **What was hard.** σ = 1 has a unit. Where all samples are many units apart, as images are, the
    kernel matrix is all but the identity and its eigenvalues are all but equal: which vectors
    lead is a matter of the few closest pairs. On USPS and Isolet the entries of a row beside the
    diagonal sum to less than 1e-3 (median), and this method has the low accuracies that the paper
    prints for them, to 0.003. We keep the setting, since the comparison is with it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import KPCA
    >>> KPCA(2).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "sigma": WIDTH,
    }

    def __init__(self, n_components: int = 2, *, sigma: float = 1.0):
        self.n_components = n_components
        self.sigma = sigma

    def _fit(self, X: Floats) -> None:
        K = kernel_matrix(X, "rbf", {"gamma": 0.5 / self.sigma**2})
        self.embedding_ = kernel_pca(K, self.n_components)


class NeighborGraphBaseline(Baseline):
    """What the methods on a neighbour graph share: the number of neighbours, and its check."""

    n_neighbors: int
    n_parts_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "n_neighbors": COUNT,
    }

    def _fit(self, X: Floats) -> None:
        check_n_neighbors(self.n_neighbors, len(X))
        self.embedding_, self.n_parts_ = self._embed(X)

    @abstractmethod
    def _embed(self, X: Floats) -> tuple[Floats, int]:
        """The embedding, and the number of parts of the graph."""


class Isomap(NeighborGraphBaseline):
    """Isometric feature mapping.

    With g_ij the length of the shortest path between samples i and j in the neighbour graph, and H
    the matrix that centres, minimises over the points z_i

        ‖H(G² − D²)H‖²,    G²_ij = g_ij²,    D²_ij = ‖z_i − z_j‖²

    which is classical scaling of the g_ij (Tenenbaum, de Silva & Langford 2000). Choose it for one
    curved sheet without holes and with little noise: one edge that is a shortcut spoils it.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=5
        Two samples are neighbours if either is among so many nearest of the other.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
        Columns beyond the number of positive eigenvalues are zero.
    n_parts_ : int
        Connected parts of the neighbour graph; if there are several, they were joined by the
        shortest edges, and no sample is left out.

    Notes
    -----
    **What was hard.** Copies of a sample are neighbours at distance 0, and an entry 0 of a sparse
    matrix must not be read as "no edge". scikit-learn joins the parts of a graph too, every pair of
    them and with a warning; for several parts our distances between them are longer.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import Isomap
    >>> model = Isomap(2, n_neighbors=10).fit(load_iris().data)
    >>> model.embedding_.shape, model.n_parts_
    ((150, 2), 2)
    """

    def __init__(self, n_components: int = 2, *, n_neighbors: int = 5):
        self.n_components = n_components
        self.n_neighbors = n_neighbors

    def _embed(self, X: Floats) -> tuple[Floats, int]:
        edges, n_parts = connected_neighbors(X, self.n_neighbors)
        return kernel_pca(-0.5 * geodesics(X, edges) ** 2, self.n_components), n_parts


class LE(NeighborGraphBaseline):
    """Laplacian eigenmaps, also known as spectral embedding.

    On the neighbour graph with weights S, their row sums D and L = D − S, minimises

        Σ_ij s_ij·‖z_i − z_j‖²    subject to ZᵀDZ = I, ZᵀD1 = 0

    whose solutions are the generalised eigenvectors Lv = μDv of smallest μ > 0 (Belkin & Niyogi
    2001). Choose it to see clusters, and what leads from one to another; distances mean little.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=5
        Two samples are neighbours if either is among so many nearest of the other.
    sigma : float, default=1.0
        The weights are s_ij = exp(−‖x_i − x_j‖²/(2σ²)), and the longest edge of the graph has
        length 1.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    n_parts_ : int
        Connected parts of the neighbour graph; if there are several, they were joined by the
        shortest edges, and no sample is left out.

    Notes
    -----
    **What was hard.** In which unit σ is 1: drtoolbox divides all squared distances by the largest
    on an edge, and so do we. The weights then lie between 0.6 and 1 at σ = 1 and cannot vanish,
    whatever the units of the data. The constant solution is removed before, not after, the
    eigenvectors are computed: parts that a single edge joins have solutions beside it with μ that
    cannot be told from 0.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import LE
    >>> LE(2, n_neighbors=10).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborGraphBaseline._parameter_constraints,
        "sigma": WIDTH,
    }

    def __init__(self, n_components: int = 2, *, n_neighbors: int = 5, sigma: float = 1.0):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.sigma = sigma

    def _embed(self, X: Floats) -> tuple[Floats, int]:
        edges, n_parts = connected_neighbors(X, self.n_neighbors)
        squared = squared_distances(X, edges)
        squared /= squared.max() or 1.0
        # Weights that underflow would take the graph apart again.
        weights = np.maximum(np.exp(-squared / (2 * self.sigma**2)), np.finfo(float).tiny)
        S = adjacency(edges, len(X), weights).toarray()
        return laplacian_eigenmap(S, self.n_components), n_parts


class LLE(NeighborGraphBaseline):
    """Locally linear embedding.

    First the weights that reconstruct each sample from its nearest neighbours, then the points that
    the same weights reconstruct best:

        min Σ_i ‖x_i − Σ_j w_ij·x_j‖²  over w,    subject to Σ_j w_ij = 1
        min Σ_i ‖z_i − Σ_j w_ij·z_j‖²  over z,    subject to ZᵀZ = I, Zᵀ1 = 0

    (Roweis & Saul 2000; Saul & Roweis 2003). Choose it for a smooth sheet that is sampled densely.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=5
    reg : float, default=1e-3
        Regularisation of the weights, relative to the trace of the local Gram matrix.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    n_parts_ : int
        Connected parts of the neighbour graph. If there are several, the ends of the shortest
        edges between them count as each other's neighbours as well; no sample is left out.

    Notes
    -----
    **What was hard.** The second problem squares the condition of the first: solutions of different
    cost can both have an eigenvalue of 1e-16. A dense solver takes them in its stride where an
    iterative one, with a random start, returns another basis each time. Parts of the graph stay
    nearly separate even when they are joined, since the best weight of a distant neighbour is
    small: the leading columns then tell the parts apart, and later ones show their shapes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import LLE
    >>> LLE(2, n_neighbors=10).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborGraphBaseline._parameter_constraints,
        # With less, rounding leaves singular systems.
        "reg": [Interval(Real, 1e-12, 1e12, closed="both")],
    }

    def __init__(self, n_components: int = 2, *, n_neighbors: int = 5, reg: float = 1e-3):
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.reg = reg

    def _embed(self, X: Floats) -> tuple[Floats, int]:
        Y = X - X.mean(axis=0)
        search = NearestNeighbors(n_neighbors=self.n_neighbors).fit(Y)
        nearest = search.kneighbors(return_distance=False)
        edges = np.column_stack([np.repeat(np.arange(len(X)), self.n_neighbors), nearest.ravel()])
        bridges, n_parts = join_parts(edges, X)
        neighbors = list(nearest)
        for i, j in bridges:
            neighbors[i], neighbors[j] = np.append(neighbors[i], j), np.append(neighbors[j], i)
        W = reconstruction_weights(Y, neighbors, self.reg)
        return locally_linear(W, self.n_components), n_parts


class TSNE(Baseline):
    """t-distributed stochastic neighbour embedding.

    Minimises over the points z_i

        Σ_ij p_ij·log(p_ij/q_ij),    q_ij ∝ 1/(1 + ‖z_i − z_j‖²)

    where p_ij are Gaussian affinities of the samples, of a width around each of them that gives its
    neighbours the wanted perplexity (van der Maaten & Hinton 2008). Choose it to see clusters; it
    tears curves and trees apart.

    Parameters
    ----------
    n_components : int, default=2
    perplexity : float, default=30.0
        About how many neighbours a sample has; 30 is the paper's. No less than 1 and no more than a
        third of the other samples are used.
    max_iter : int, default=500
        Iterations of gradient descent; at least 250. More spread the clusters further apart.
    random_state : int, RandomState or None, default=None
        The start is the leading principal components; where the data have fewer of them than
        n_components, the rest is random.

    Attributes
    ----------
    embedding_ : array of shape (n_samples, n_components)
    perplexity_ : float
        The perplexity used.

    Notes
    -----
    **What was hard.** The paper embeds into as many as 165 dimensions, where trees as of Barnes
    and Hut do not help. So beyond two dimensions every pair of samples counts in each step, by
    products of matrices in single precision (`branchwise_paper.baselines.exact_tsne`);
    scikit-learn's exact method goes from sample to sample. It also gives the Student distribution
    n_components − 1 degrees of freedom; the paper's toolbox has one in any dimension, and so have
    we. In one and two dimensions both agree, and scikit-learn's solver is used. The descent is
    chaotic: it runs on one thread, or else the number of threads would decide the outcome. The
    toolbox first reduces the data to 30 principal components; we do not, which on USPS, the one set
    where we compared, changed the accuracy of the paper's table by 0.001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from branchwise_paper.baselines import TSNE
    >>> TSNE(2, random_state=0).fit_transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **Baseline._parameter_constraints,
        "perplexity": POSITIVE,
        "max_iter": [Interval(Integral, 250, None, closed="left")],
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        perplexity: float = 30.0,
        max_iter: int = 500,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.perplexity = perplexity
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Floats) -> None:
        self.perplexity_ = max(min(float(self.perplexity), (len(X) - 1) / 3), 1.0)
        X = of_moderate_size(X)
        with threadpool_limits(limits=1):
            start = self._start(X)
            if self.n_components > 2:
                P = affinities(X, self.perplexity_)
                self.embedding_ = exact_tsne(P, start, max_iter=self.max_iter)
                return
            model = manifold.TSNE(
                self.n_components,
                perplexity=self.perplexity_,
                max_iter=self.max_iter,
                init=start.astype(np.float32),
                random_state=check_random_state(self.random_state),
            )
            self.embedding_ = model.fit_transform(X).astype(np.float64)

    def _start(self, X: Floats) -> Floats:
        """Principal components, the first of standard deviation 1e-4, and noise where none are."""
        start = check_random_state(self.random_state).normal(size=(len(X), self.n_components))
        start *= 1e-4
        model = principal_components(X, min(self.n_components, *X.shape))
        deviation = np.sqrt(model.explained_variance_)
        is_real = np.flatnonzero(deviation > 1e-10 * np.abs(X).max())
        start[:, is_real] = model.transform(X)[:, is_real] * (1e-4 / max(deviation[0], 1e-300))
        return start
