"""The default way gives one answer, whatever the order, unit and type of the table."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from branchwise import learn_trajectory
from branchwise.datasets import make_tree
from branchwise.trajectory import learning as module
from branchwise.trajectory.learning import averages, learn, starting_form, ward_means

IRIS = load_iris().data


def tables():
    """Tables with many equal values, and one without."""
    rng = np.random.default_rng(0)
    tree = make_tree(160, 6, topology="bifurcation", noise=0.1, random_state=0).X
    return {
        "iris": IRIS,
        "smooth": tree,
        "rounded": tree.round(1),
        "counts": rng.poisson(np.exp(1.5 + tree)).astype(float),
        "likert": np.clip(np.round(3 + 2 * tree + 0.3 * rng.normal(size=tree.shape)), 1, 5),
    }


TABLES = tables()


@pytest.fixture(scope="module", params=TABLES)
def learned(request):
    X = TABLES[request.param]
    return X, learn(X)


def assert_same(one, other, scale=1.0, rows=slice(None), rtol=1e-6):
    """The same branches, and the same times but for the unit."""
    assert one.edges_.shape == other.edges_.shape
    np.testing.assert_array_equal(one.branches_[rows], other.branches_)
    atol = rtol * scale * one.pseudotime_.max()
    np.testing.assert_allclose(other.pseudotime_, scale * one.pseudotime_[rows], atol=atol, rtol=0)


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_the_rows_changes_nothing(learned, seed):
    X, found = learned
    order = np.random.default_rng(seed).permutation(len(X))
    assert_same(found, learn(X[order]), rows=order)


@pytest.mark.parametrize("scale", [3.0, 10.0, 1000.0, 1 / 3])
def test_the_unit_changes_nothing(learned, scale):
    X, found = learned
    assert_same(found, learn(scale * X), scale)


@pytest.mark.parametrize("offset", [273.15, -1e4])
def test_the_zero_of_the_scale_changes_nothing(learned, offset):
    X, found = learned
    assert_same(found, learn(X + offset))


def test_the_order_of_the_columns_and_the_last_bits_change_nothing(learned):
    X, found = learned
    assert_same(found, learn(X[:, ::-1]))
    assert_same(found, learn(X * (1 + 2.0**-50)))


def test_sparse_dask_and_single_precision(learned):
    X, found = learned
    assert_same(found, learn(sparse.csr_array(X)))
    da = pytest.importorskip("dask.array")
    assert_same(found, learn(da.from_array(X, chunks=(23, X.shape[1]))))
    exact = np.asarray(X, dtype=np.float32).astype(float)
    one, other = learn(exact), learn(exact.astype(np.float32))
    np.testing.assert_array_equal(one.branches_, other.branches_)
    np.testing.assert_allclose(
        other.pseudotime_, one.pseudotime_, atol=1e-3 * one.pseudotime_.max()
    )


def test_samples_are_placed_where_they_were(learned):
    X, found = learned
    for shift in (0.0, 1e-9):
        places = found.place(X + shift)
        close = 1e-6 * found.pseudotime_.max()
        np.testing.assert_allclose(places["pseudotime"], found.pseudotime_, atol=close, rtol=0)
        # At a fork itself a sample is on one branch as well as on the other.
        at_fork = np.isin(found.branch_position_, [0.0, 1.0])
        assert (places["branch"].to_numpy() == found.branches_)[~at_fork].all()


def test_two_samples_are_the_ends_of_a_line():
    X = np.array([[0.0, 0.0, 5.0], [3.0, 4.0, 5.0]])
    found = learn_trajectory(X, support=0)
    assert found.branch_table_.index.tolist() == ["T1-T2"]
    assert sorted(found.pseudotime_scaled_.tolist()) == [0.0, 1.0]
    assert 4 < found.pseudotime_.max() <= 5 + 1e-9
    assert found.describe().split("\n") == [
        "1 branch, 2 tips and no fork.",
        "2 samples are too few to compare a curve with other shapes.",
    ]


@pytest.mark.parametrize("n_features", [1, 2, 3])
@pytest.mark.parametrize("n_components", ["auto", 2, 50, 0.9])
def test_fewer_features_than_components(n_features, n_components):
    X = np.random.default_rng(0).normal(size=(40, n_features)) * [1.0, 0.5, 0.2][:n_features]
    found = learn(X, n_components=n_components)
    wanted = {"auto": n_features, 2: min(2, n_features), 50: n_features}
    if n_components == 0.9:
        values = np.linalg.eigvalsh(np.cov(X.T).reshape(n_features, n_features))[::-1]
        wanted[0.9] = int(np.sum(np.cumsum(values) <= 0.9 * values.sum())) + 1
    assert found.nodes_.shape[1] == wanted[n_components]


def test_one_feature_is_its_own_order():
    x = np.random.default_rng(0).normal(size=60)
    found = learn(x[:, np.newaxis])
    assert set(found.branches_) == {"T1-T2"}
    # Beyond the ends of the curve there is no order.
    inside = (found.pseudotime_scaled_ > 0) & (found.pseudotime_scaled_ < 1)
    assert inside.sum() > 40
    time, x = found.pseudotime_[inside], x[inside]
    assert abs(np.corrcoef(np.argsort(np.argsort(time)), np.argsort(np.argsort(x)))[0, 1]) == 1


@pytest.mark.parametrize(
    "X",
    [
        np.ones((30, 3)),
        np.full((2, 1), 0.1),
        np.zeros((4, 2)),
        np.tile([0.1, 1e8, -3.3], (7, 1)),
        np.tile(np.float32([0.1, 0.2]), (31, 1)),
        sparse.csr_array(np.full((30, 3), 0.1)),
    ],
)
@pytest.mark.parametrize("n_components", ["auto", 0.9])
def test_equal_rows_have_no_order(X, n_components):
    with pytest.raises(ValueError, match=r"^All rows of X are equal, .* right columns were read\."):
        learn_trajectory(X, n_components=n_components)


def test_constant_columns_change_nothing():
    X = TABLES["smooth"]
    wide = np.column_stack([np.full(len(X), 0.1), X, np.full(len(X), 1e3)])
    assert_same(learn(X, n_components=5), learn(wide, n_components=5))


def test_columns_that_follow_from_others_change_nothing():
    X = TABLES["smooth"][:, :3]
    found = learn(np.column_stack([X, X, X]) / np.sqrt(3))
    assert found.nodes_.shape[1] == 3
    assert_same(learn(X), found)


@pytest.mark.parametrize("n_samples", [3, 4, 8, 13, 19, 20])
def test_few_samples_are_described(n_samples):
    X = np.random.default_rng(n_samples).normal(size=(n_samples, 4))
    found = learn_trajectory(X, support=0)
    # The centres have not fallen together.
    assert found.lengths_.sum() > 0.5 * np.linalg.norm(X.std(axis=0))
    assert found.evidence_["log_likelihood"].isna().all() == (n_samples < 20)
    assert ("too few to compare" in found.describe()) == (n_samples < 20)


def test_equal_rows_have_equal_places():
    X = np.repeat(IRIS[::5], 4, axis=0)
    found = learn(X)
    np.testing.assert_allclose(
        np.ptp(found.pseudotime_.reshape(-1, 4), axis=1), 0, atol=1e-9 * found.pseudotime_.max()
    )


def test_of_many_rows_some_tell_the_shape_and_all_the_course(monkeypatch):
    monkeypatch.setattr(module, "SHAPE_ROWS", 300)
    data = make_tree(900, 6, topology="bifurcation", noise=0.05, random_state=0)
    seen = []
    monkeypatch.setattr(
        module, "starting_form", lambda rows, d: seen.append(rows.shape) or starting_form(rows, d)
    )
    found = learn(data.X)
    assert seen == [(300, 6)]
    assert found.branch_table_.index.tolist() == ["T1-F1", "F1-T2", "F1-T3"]
    assert len(found.estimator_.embedding_) == len(found.names_) == 900


def test_more_rows_than_the_evidence_looks_at():
    X = make_tree(3100, 4, topology="bifurcation", noise=0.05, random_state=0).X
    found = learn_trajectory(X, support=0)
    assert len(found.branch_table_) == 3
    assert found.evidence_["n_samples"].unique().tolist() == [3000]
    assert found.describe().endswith("Shapes were compared on 3,000 of the 3,100 samples.")


def test_averages_of_nearest_neighbours():
    points = np.random.default_rng(0).normal(size=(57, 3))
    for i, average in enumerate(averages(points)):
        distance = [np.linalg.norm(point - points[i]) for point in points]
        nearest = sorted(range(57), key=distance.__getitem__)[:5]
        np.testing.assert_allclose(average, sum(points[k] for k in nearest) / 5, atol=1e-12)


def test_means_of_clusters():
    points = np.vstack([[[0.0, 0.0], [1.0, 0.0]], [[10.0, 1.0], [10.0, 3.0]], [[50.0, 5.0]]])
    means = ward_means(points, 3)
    assert sorted(means.tolist()) == [[0.5, 0.0], [10.0, 2.0], [50.0, 5.0]]
    np.testing.assert_array_equal(ward_means(points, 5), points)


def test_the_start_is_sorted_and_has_no_unit():
    X = np.random.default_rng(0).normal(size=(50, 4)) @ np.diag([5.0, 2.0, 1.0, 0.1]) + 7
    start = starting_form(X, 3)
    assert start.points.tolist() == sorted(start.points.tolist())
    np.testing.assert_allclose(np.mean(np.sum(start.points**2, axis=1)), 1, atol=1e-5)
    back = start.unit * start.points @ start.axes + start.mean
    for row in X:
        assert min(np.linalg.norm(back - row, axis=1)) < 1e-4
