"""Support of simulated trees, and the machinery that it comes from."""

import sys

import numpy as np
import pytest
from scipy import stats

from branchwise import SPL, DDRTree, DRTree
from branchwise.datasets import make_forest, make_tree
from branchwise.graph import adjacency
from branchwise.model_selection import automatic_sigma
from branchwise.trajectory import Trajectory, learn_trajectory
from branchwise.trajectory import bootstrap as module
from branchwise.trajectory.bootstrap import bootstrapped, drawn, repeated, support
from branchwise.trajectory.compare import compare
from branchwise.trajectory.roots import rerooted

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def fork():
    """A simulated fork that noise does not blur, its learned tree, and the tree's support."""
    data = make_tree(800, 8, topology="bifurcation", lengths=1.0, noise=0.04, random_state=0)
    found = learn_trajectory(data.X, support=0)
    return data, found, found.support(data.X, n_resamples=12, random_state=0, progress=False)


def test_a_clear_fork_is_found_again(fork):
    _, found, result = fork
    assert found.branch_table_.index.tolist() == result.branches_.index.tolist()
    assert result.branches_.support.min() > 0.9
    assert result.milestones_.loc["F1", "support"] > 0.9
    assert result.milestones_.kind.to_dict() == found.milestones_.kind.to_dict()
    assert result.branches_.n_samples.sum() == 800
    assert (result.branches_.similarity <= 1).all()
    assert result.n_tips_.idxmax() == 3
    assert result.n_tips_.sum() == result.n_resamples_ == 12
    assert (result.n_failed_, result.messages_, result.method_) == (0, (), "bootstrap")


def test_the_table_of_samples_is_about_their_times(fork):
    _, found, result = fork
    table = result.pseudotime_
    assert table.index.tolist() == found.names_.tolist()
    np.testing.assert_array_equal(table.pseudotime, found.pseudotime_)
    assert (table.lower <= table.pseudotime).mean() > 0.99
    assert (table.pseudotime <= table.upper).mean() > 0.99
    assert table.branch_agreement.between(0, 1).all()
    # Away from the fork samples stay on their branch.
    far = np.abs(found.pseudotime_ - 1.0) > 0.2
    assert table.branch_agreement[far].mean() > 0.95


def test_times_vary_by_about_the_noise_and_more_with_more_of_it(fork):
    spreads = [fork[2].pseudotime_["std"].median()]
    data = make_tree(800, 8, topology="bifurcation", lengths=1.0, noise=0.12, random_state=0)
    found = learn_trajectory(data.X, support=0)
    result = found.support(data.X, n_resamples=6, random_state=0, progress=False)
    spreads.append(result.pseudotime_["std"].median())
    assert 0.25 * 0.04 < spreads[0] < 3 * 0.04
    assert 0.25 * 0.12 < spreads[1] < 3 * 0.12
    assert spreads[1] > 1.5 * spreads[0]


def test_twigs_of_pure_noise_are_not_found_again():
    branches, forks = [], []
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(300, 5))  # simulated, without any structure
        found = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(X))
        result = found.support(X, n_resamples=8, random_state=0, progress=False)
        assert len(result.branches_) > 5
        branches.extend(result.branches_.support)
        forks.extend(result.milestones_.support[result.milestones_.kind == "fork"])
    assert np.nanmedian(branches) < 0.4  # NaN: of branches without samples
    assert np.nanmedian(forks) < 0.4


def test_a_twig_of_a_line_has_less_support_than_the_line():
    data = make_tree(500, 6, topology="linear", lengths=3.0, noise=0.05, random_state=1)
    line = learn_trajectory(data.X, support=0)
    assert line.branch_table_.index.tolist() == ["T1-T2"]
    whole = line.support(data.X, n_resamples=10, random_state=0, progress=False)
    model = DDRTree(6, gamma=1.0, lam=5.0, random_state=0).fit(data.X)
    twigs = Trajectory.from_estimator(model)
    assert len(twigs.branch_table_) > 1
    parts = twigs.support(data.X, n_resamples=10, random_state=0, progress=False)
    short = twigs.branch_table_.length < 2 * twigs.noise_
    assert parts.branches_.support[short].mean() < 0.5 < whole.branches_.support["T1-T2"]


def same(one, other):
    for name in ("branches_", "milestones_", "pseudotime_"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)
    pd.testing.assert_series_equal(one.n_tips_, other.n_tips_)


def test_the_result_depends_on_the_seed_alone():
    data = make_tree(120, 4, noise=0.05, random_state=0)
    found = learn_trajectory(data.X, support=0)
    one, again, other, parallel = (
        found.support(data.X, n_resamples=4, random_state=seed, n_jobs=n_jobs, progress=False)
        for seed, n_jobs in [(0, None), (0, 1), (1, None), (0, 2)]
    )
    same(one, again)
    same(one, parallel)
    assert not np.allclose(one.pseudotime_["mean"], other.pseudotime_["mean"])


@pytest.mark.filterwarnings("ignore:Time starts where")  # labels by lot
@pytest.mark.parametrize(
    "change",
    [
        lambda t: t,
        lambda t: t.prune(),
        lambda t: t.prune(min_length=0.3),
        lambda t: t.prune(min_samples=20).rooted(sample=7),
        lambda t: t.rooted(labels=np.arange(200) < 20, value=True).prune(),
        lambda t: t.prune(tips=["T3"]).rooted(node="T2"),
        lambda t: t.merge(n_branches=3).rooted(node=["T1", "F1"]),
        lambda t: t.rooted(node="T2").prune().rooted(),
        lambda t: t.rooted(labels=np.arange(200) % 9, value=4, at="node"),
    ],
    ids=range(9),
)
def test_the_same_steps_make_the_same_of_the_same_fit(change):
    data = make_tree(200, 5, noise=0.1, random_state=3)
    model = DDRTree(3, random_state=0).fit(data.X)
    fitted = Trajectory.from_estimator(model)
    wanted = change(fitted)
    roots = module.landmarks(
        wanted.view.base, wanted.view.milestone_names, wanted.view.default_roots
    )
    again = repeated(fitted, wanted._steps[1:], np.arange(200), roots)
    assert again.branch_table_.index.tolist() == wanted.branch_table_.index.tolist()
    np.testing.assert_allclose(again.pseudotime_, wanted.pseudotime_, atol=1e-12)
    found = compare(wanted, again)
    assert np.isin(found.branches[~np.isnan(found.branches)], 1.0).all()


def test_a_resample_is_a_fit_to_rows_with_all_samples_placed_and_the_noise_of_the_rows():
    X = simulated_fork(100, noise=0.1)
    model = DDRTree(2, lam=10.0, random_state=0)
    found = Trajectory.from_estimator(model.fit(X)).prune().rooted(sample=3)
    again, part, converged = bootstrapped(np.random.default_rng(5), model, X, found._steps, [])
    rng = np.random.default_rng(5)
    rows = sorted(set(rng.integers(100, size=100).tolist()))
    assert part == len(rows) / 100
    other = DDRTree(2, lam=10.0 * part, random_state=int(rng.integers(2**31 - 1))).fit(X[rows])
    placed = Trajectory.from_estimator(other, points=other.project(X))
    noise = Trajectory.from_estimator(other).noise_
    assert noise != placed.noise_
    expected = placed.prune(min_length=2 * noise).rooted(sample=3)
    np.testing.assert_allclose(again.pseudotime_, expected.pseudotime_, atol=1e-12)
    assert again.branches_.tolist() == expected.branches_.tolist()
    assert converged == other.converged_


def test_resamples_equal_to_the_data_give_full_support_and_no_spread(fork, monkeypatch):
    _, found, _ = fork
    monkeypatch.setattr(module, "bootstrapped", lambda rng, **given: (found, 1.0, True))
    result = support(found, fork[0].X, n_resamples=3, progress=False)
    assert (result.branches_[["support", "similarity"]] == 1).all(axis=None)
    assert (result.milestones_[["support", "similarity"]] == 1).all(axis=None)
    table = result.pseudotime_
    assert table.graph_std.max() < 1e-12
    np.testing.assert_allclose(table["std"], found.noise_)
    assert (table.branch_agreement == 1).all()
    np.testing.assert_allclose(table["mean"], found.pseudotime_, atol=1e-12)


def test_support_and_similarity_are_means_over_the_resamples(fork, monkeypatch):
    _, found, _ = fork
    line = found.prune(tips=["T3"])
    others = [found, line, found.rooted(node="T2"), line]
    made = iter(others)
    monkeypatch.setattr(module, "bootstrapped", lambda rng, **given: (next(made), 0.8, True))
    result = support(found, fork[0].X, n_resamples=4, level=0.5, min_jaccard=0.6, progress=False)
    expected = np.array([compare(found, other).branches for other in others])
    np.testing.assert_allclose(result.branches_.similarity, expected.mean(axis=0))
    np.testing.assert_allclose(result.branches_.support, (expected > 0.6).mean(axis=0))
    times = pd.DataFrame([other.pseudotime_ for other in others])
    table = result.pseudotime_.reset_index(drop=True)
    np.testing.assert_allclose(table["mean"], times.mean())
    scale = np.sqrt(0.8 / 0.2)  # from graphs of 0.8 of the samples to those of all
    np.testing.assert_allclose(table.graph_std, scale * times.std())
    np.testing.assert_allclose(table["std"] ** 2, scale**2 * times.var() + found.noise_**2)
    reach = stats.norm.ppf(0.75) * table["std"]
    np.testing.assert_allclose(table.upper, table.pseudotime + reach)
    np.testing.assert_allclose(table.lower, (table.pseudotime - reach).clip(lower=0))
    assert result.n_tips_.to_dict() == {2: 2, 3: 2}


def test_failed_resamples_are_counted_with_their_reasons(fork, monkeypatch):
    _, found, _ = fork
    outcomes = iter([True, False, None, False])

    def sometimes(rng, **given):
        converged = next(outcomes)
        if converged is None:
            raise ValueError("no such luck")
        return found, 1.0, converged

    monkeypatch.setattr(module, "bootstrapped", sometimes)
    result = support(found, fork[0].X, n_resamples=4, progress=False)
    assert (result.n_resamples_, result.n_failed_, result.n_unconverged_) == (3, 1, 2)
    assert result.messages_ == ("ValueError: no such luck",)

    def never(rng, **given):
        raise ValueError("no such luck")

    monkeypatch.setattr(module, "bootstrapped", never)
    with pytest.raises(ValueError, match="the first one failed with ValueError: no such luck"):
        support(found, fork[0].X, n_resamples=3, progress=False)


def test_ctrl_c_stops_at_once(fork, monkeypatch):
    _, found, _ = fork
    begun = []

    def interrupted(rng, **given):
        begun.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "bootstrapped", interrupted)
    with pytest.raises(KeyboardInterrupt):
        support(found, fork[0].X, n_resamples=5, progress=False)
    assert len(begun) == 1


def test_the_bar_is_for_terminals(fork, monkeypatch, capsys):
    pytest.importorskip("tqdm")
    _, found, _ = fork
    monkeypatch.setattr(module, "bootstrapped", lambda rng, **given: (found, 1.0, True))
    support(found, fork[0].X, n_resamples=2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    support(found, fork[0].X, n_resamples=2)
    assert "2/2" in capsys.readouterr().err
    support(found, fork[0].X, n_resamples=2, progress=False)
    assert capsys.readouterr().err == ""


def test_without_tqdm_there_is_a_remedy(fork, monkeypatch):
    _, found, _ = fork
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(module, "bootstrapped", lambda rng, **given: (found, 1.0, True))
    with pytest.raises(ImportError, match="or pass progress=False"):
        support(found, fork[0].X, n_resamples=2)
    assert support(found, fork[0].X, n_resamples=2, progress=False).n_failed_ == 0


def simulated_fork(n_samples=150, noise=0.05):
    return make_tree(
        n_samples, 5, topology="bifurcation", lengths=1.0, noise=noise, random_state=0
    ).X


@pytest.mark.parametrize("kind", ["frame", "sparse", "list"])
def test_samples_of_any_type(kind):
    from scipy import sparse

    X = simulated_fork(60)
    given = {"frame": pd.DataFrame, "sparse": sparse.csr_array, "list": np.ndarray.tolist}[kind](X)
    found = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(given)).prune()
    plain = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(X)).prune()
    one, two = (
        t.support(data, n_resamples=2, random_state=0, progress=False)
        for t, data in ((found, given), (plain, X))
    )
    np.testing.assert_allclose(one.branches_.support, two.branches_.support)
    np.testing.assert_allclose(one.pseudotime_["mean"], two.pseudotime_["mean"], atol=1e-6)


def test_every_sample_may_be_a_node():
    X = simulated_fork()
    found = Trajectory.from_estimator(DRTree(3).fit(X)).merge(n_branches=3)
    result = found.support(X, n_resamples=6, random_state=0, progress=False)
    assert result.n_failed_ == 0
    assert result.branches_.support.min() > 0.5


def test_a_precomputed_kernel_is_resampled_by_rows_and_columns():
    X = simulated_fork(80)
    K = X @ X.T
    found = Trajectory.from_estimator(DDRTree(2, kernel="precomputed", random_state=0).fit(K))
    result = found.prune().support(K, n_resamples=2, random_state=0, progress=False)
    assert (result.n_failed_, result.n_resamples_) == (0, 2)


def test_a_forest_has_a_root_in_each_tree():
    data = make_forest(400, 5, topologies=["linear", "bifurcation"], noise=0.04, random_state=0)
    model = DDRTree(4, structure="forest", gamma=0.01, lam=0.005 * 0.01 * 400, random_state=0)
    model.set_params(sigma=6 * automatic_sigma(model, data.X))
    found = Trajectory.from_estimator(model.fit(data.X)).prune()
    assert len(found.roots_) == 2
    result = found.support(data.X, n_resamples=6, random_state=0, progress=False)
    assert np.isfinite(result.pseudotime_).all(axis=None)
    assert result.branches_.similarity.min() > 0.5
    assert result.pseudotime_["std"].median() < 0.3


def test_the_posterior_moves_samples_on_the_graph_as_it_is():
    X = simulated_fork()
    model = SPL(3, gamma=10.0).fit(X)
    found = Trajectory.from_estimator(model).merge(n_branches=3).rooted(sample=5)
    result = found.support(method="posterior", n_resamples=20, random_state=0, progress=False)
    assert result.method_ == "posterior"
    assert result.n_tips_.to_dict() == {3: 20}
    clear = result.branches_.n_samples > 20
    assert result.branches_.support[clear].min() > 0.9
    assert (result.pseudotime_["std"] > 0).mean() > 0.9
    same(
        result,
        found.support(X, method="posterior", n_resamples=20, random_state=0, progress=False),
    )
    # The root stays where it is; the sample that it was the place of does not.
    rng = np.random.default_rng(0)
    embedding = model.sample_posterior(1, random_state=int(rng.integers(2**31 - 1)))[0]
    moved, *_ = drawn(np.random.default_rng(0), found)
    # By as much as the draw differs from the posterior mean, in units of the data: (γ + 1)/γ.
    points = model.projection_ + 1.1 * (embedding - model.embedding_)
    np.testing.assert_allclose(moved.pseudotime_, found.project(points).pseudotime, atol=1e-12)
    assert moved.pseudotime_[5] > 0


def test_spl_can_be_fitted_again_too():
    X = simulated_fork()
    found = Trajectory.from_estimator(SPL(3).fit(X)).merge(n_branches=3)
    result = found.support(X, n_resamples=5, random_state=0, progress=False)
    assert result.method_ == "bootstrap"
    assert result.branches_.support.min() > 0.5


def test_a_ring_is_found_again():
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 50)
    X = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])  # simulated
    found = Trajectory.from_estimator(DDRTree(2, structure="ring", random_state=0).fit(X))
    result = found.support(X, n_resamples=3, random_state=0, progress=False)
    assert result.branches_.support.tolist() == [1.0]
    assert len(result.milestones_) == 0
    assert result.n_tips_.to_dict() == {0: 3}


X40 = simulated_fork(40)
MADE = Trajectory.from_estimator(DDRTree(2, random_state=0).fit(X40)).prune()


@pytest.mark.parametrize(
    ("found", "arguments", "error", "message"),
    [
        (Trajectory([[0, 1]], X40[:2]), {"X": X40}, AttributeError, "support needs the estimator"),
        (MADE, {"X": X40[1:]}, ValueError, "X has 39 rows, but the estimator was fitted to 40"),
        (MADE, {}, ValueError, "X=None is enough for method='posterior' only"),
        (MADE, {"X": X40, "method": "jackknife"}, ValueError, "method='jackknife' is not one of"),
        (MADE, {"X": X40, "method": "posterior"}, ValueError, "DDRTree has no posterior"),
        (MADE, {"X": X40, "n_resamples": 1}, ValueError, "n_resamples=1 must be at least 2"),
        (MADE, {"X": X40, "n_resamples": 2.5}, ValueError, "n_resamples=2.5 must be a positive"),
        (MADE, {"X": X40, "level": 95}, ValueError, "level=95 must be between 0 and 1"),
        (MADE, {"X": X40, "min_jaccard": 1}, ValueError, "min_jaccard=1 must be at least 0"),
        (MADE, {"X": X40, "min_jaccard": "a"}, ValueError, "min_jaccard='a' must be at least 0"),
    ],
)
def test_wrong_arguments_are_named(found, arguments, error, message):
    with pytest.raises(error, match=message):
        found.support(**arguments)


def test_what_cannot_be_resampled_is_said():
    path = adjacency(np.column_stack([np.arange(39), np.arange(1, 40)]), 40)
    fixed = Trajectory.from_estimator(DRTree(2, structure=path).fit(X40))
    with pytest.raises(ValueError, match="nodes of a structure given as a matrix are"):
        fixed.support(X40)
    fewer = Trajectory.from_estimator(MADE.estimator_, points=MADE.estimator_.projection_[:9])
    with pytest.raises(ValueError, match="has 9 samples but its estimator was fitted to 40"):
        fewer.support(X40)
    flat = Trajectory.from_estimator(SPL(2, gamma=0.0).fit(X40))
    with pytest.raises(ValueError, match="needs gamma=0 to be positive"):
        flat.support(method="posterior")


def test_a_close_or_refused_root_in_a_resample_does_not_stop_the_others():
    """The label is inside for some fits and at a tip for others; warnings would be errors here."""
    data = make_tree(200, 5, noise=0.1, random_state=3)
    found = Trajectory.from_estimator(DDRTree(3, random_state=0).fit(data.X)).prune()
    labels = np.random.default_rng(0).random(200) < 0.03
    with pytest.warns(UserWarning, match="Time starts where True comes first"):
        close = found.rooted(labels=labels, value=True)
    result = close.support(data.X, n_resamples=4, random_state=0, progress=False)
    assert (result.n_resamples_, result.n_failed_) == (4, 0)
    early = data.pseudotime < 0.15
    tip = found.rooted(labels=early, value=True, at="tip")
    result = tip.support(data.X, n_resamples=4, random_state=0, progress=False)
    assert result.n_resamples_ + result.n_failed_ == 4


def test_a_resample_without_the_twig_of_a_labelled_root_starts_near_it():
    nodes = np.array([[-5.0, 0.0], [0.0, 0.0], [5.0, 0.0], [0.0, 3.0]])
    along = np.linspace(-5, 5, 21)
    points = np.vstack([np.column_stack([along, 0 * along]), [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]])
    early = np.arange(24) > 20
    fork = Trajectory([[0, 1], [1, 2], [1, 3]], nodes, points)
    _, asked = rerooted(fork.view, fork.names_, labels=early, value=True, at="tip")
    line = Trajectory([[0, 1], [1, 2]], nodes[:3], points)
    with pytest.raises(ValueError, match="No tip has a sample labelled True"):
        line.rooted(labels=early, value=True, at="tip")
    again = repeated(line, [("rooted", asked)], np.arange(24), [])
    np.testing.assert_allclose(again.pseudotime_, np.abs(points[:, 0]), atol=1e-12)
