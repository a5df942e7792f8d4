"""Every slot of an AnnData object that `tl` writes and `pl` reads, by name."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Keys:
    """Slots outside of ``uns[key]``; see `keys_of`."""

    embedding: str  # obsm: the cells in the learned space
    projection: str  # obsm: their linear coordinates, at which they are on the tree
    branch_colors: str  # uns: for scanpy's plots
    pseudotime: str  # obs, as all up to the tests
    progress: str
    branch: str
    branch_position: str
    distance: str
    pseudotime_std: str
    pseudotime_lower: str
    pseudotime_upper: str
    branch_agreement: str
    p: str
    misfit: str
    out_of_range: str
    drivers: str
    branch_probability: str
    likeliest_branch: str
    statistic: str  # var, as all from here on
    p_value: str
    q_value: str
    r_squared: str
    amplitude: str
    correlation: str

    @property
    def order(self) -> tuple[str, ...]:
        """Columns of obs that hang on the root and the branches."""
        return self.pseudotime, self.progress, self.branch, self.branch_position, self.distance

    @property
    def support(self) -> tuple[str, ...]:
        """Columns of obs that `tl.bootstrap` writes."""
        return (
            self.pseudotime_std,
            self.pseudotime_lower,
            self.pseudotime_upper,
            self.branch_agreement,
        )

    @property
    def trust(self) -> tuple[str, ...]:
        """Columns of obs that say how far cells are from the tree, wherever time starts."""
        return self.p, self.misfit, self.out_of_range, self.drivers

    @property
    def likely(self) -> tuple[str, ...]:
        """Columns of obs that say how sure their branches are, which the root names."""
        return self.branch_probability, self.likeliest_branch

    @property
    def tests(self) -> tuple[str, ...]:
        """Columns of var that `tl.test_association` writes."""
        return (
            self.statistic,
            self.p_value,
            self.q_value,
            self.r_squared,
            self.amplitude,
            self.correlation,
        )


@dataclass(frozen=True)
class Entries:
    """What ``uns[key]`` holds."""

    method: str = "method"  # the tool: "trajectory", "ddrtree", "drtree" or "spl"
    params: str = "params"  # of the estimator or the tool, with None written as the word
    use_rep: str = "use_rep"  # "X", or an entry of obsm
    layer: str = "layer"  # if there was one
    structure: str = "structure"  # of spl, if there was one
    centers: str = "centers"  # nodes of the graph
    tree: str = "tree"  # its adjacency matrix, sparse
    graph: str = "graph"  # SPL's learned weights between cells, sparse
    from_dask: str = "from_dask"  # True after a fit to a Dask array
    landmarks: str = "landmarks"  # of drtree and spl then: the numbers of the cells that are nodes
    sigma: str = "sigma"  # width of the soft assignments
    objective_history: str = "objective_history"
    n_iter: str = "n_iter"
    converged: str = "converged"
    model: str = "model"  # the fitted estimator (`persistence.estimators.estimator_state`)
    reference: str = "reference"  # of `tl.trajectory`: how far its cells lie from the tree
    trajectory: str = "trajectory"  # graph and root as pseudotime and branches left them
    milestones: str = "milestones"  # tables
    branches: str = "branches"
    association: str = "association"
    support: str = "support"
    evidence: str = "evidence"  # of `tl.trajectory`: tree, curve, plane and cloud
    description: str = "description"  # and what was found, in sentences


@dataclass(frozen=True)
class Placed:
    """What ``uns[key]["trajectory"]`` holds: no fit and no search is needed to have it again."""

    nodes: str = "nodes"
    edges: str = "edges"
    roots: str = "roots"  # nodes
    end: str = "end"  # a node, if an end was given
    steps: str = "steps"  # what was asked for, for resamples to follow


UNS = Entries()
PLACED = Placed()


def keys_of(key: str) -> Keys:
    """The slots of the analysis that is called ``key``.

    Examples
    --------
    >>> from branchwise.scverse._keys import keys_of
    >>> keys_of("ddrtree").embedding, keys_of("ddrtree").pseudotime
    ('X_ddrtree', 'ddrtree_pseudotime')
    """
    return Keys(
        embedding=f"X_{key}",
        projection=f"X_{key}_projection",
        branch_colors=f"{key}_branch_colors",
        pseudotime=f"{key}_pseudotime",
        progress=f"{key}_progress",
        branch=f"{key}_branch",
        branch_position=f"{key}_branch_position",
        distance=f"{key}_distance",
        pseudotime_std=f"{key}_pseudotime_std",
        pseudotime_lower=f"{key}_pseudotime_lower",
        pseudotime_upper=f"{key}_pseudotime_upper",
        branch_agreement=f"{key}_branch_agreement",
        p=f"{key}_p",
        misfit=f"{key}_misfit",
        out_of_range=f"{key}_out_of_range",
        drivers=f"{key}_drivers",
        branch_probability=f"{key}_branch_probability",
        likeliest_branch=f"{key}_likeliest_branch",
        statistic=f"{key}_statistic",
        p_value=f"{key}_p_value",
        q_value=f"{key}_q_value",
        r_squared=f"{key}_r_squared",
        amplitude=f"{key}_amplitude",
        correlation=f"{key}_correlation",
    )
