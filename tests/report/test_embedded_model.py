"""A page places new samples as `Trajectory.place` and `Pipeline.place` do."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from branchwise import SPL, DDRTree, DRTree, Preparation
from branchwise.io import Table
from branchwise.pipeline import fit_pipeline
from branchwise.report import embedded_model as placing
from branchwise.report.content import report_state
from branchwise.report.encoding import decode, encode
from branchwise.trajectory import Trajectory

from .placed import linear, on_graph, times

FEATURES = [f"lab {k}" for k in range(6)]
# The measurements grow exponentially, and not all are taken as logarithms.
pytestmark = pytest.mark.filterwarnings("ignore:'lab 5' carries")


@pytest.fixture(scope="module")
def cohort():
    """Simulated patients: positive measurements with gaps, which depend on age and site."""
    rng = np.random.default_rng(0)
    time, age = rng.uniform(0, 2, size=90), rng.uniform(30, 80, size=90).round()
    site = rng.choice(["north", "south", "west"], size=90)
    loads = rng.normal(size=(2, 6))
    X = np.exp(np.outer(time, loads[0]) + np.outer(np.sin(2 * time), loads[1]) / 2)
    X = X * (1 + 0.1 * rng.standard_normal(X.shape)) + (site == "west")[:, None] + age[:, None] / 50
    frame = pd.DataFrame(X.round(4), columns=FEATURES, index=[f"P{k}" for k in range(90)])
    return frame.assign(age=age, site=site)


def new_rows(frame, n_rows=25):
    """Rows that nobody has seen, and some that were fitted."""
    rng = np.random.default_rng(1)
    new = frame.iloc[:n_rows].copy()
    new[FEATURES] *= 1 + 0.2 * rng.random((n_rows, len(FEATURES)))
    return pd.concat([new, frame.iloc[-5:]])


def page_of(made, frame, **options):
    features, about = frame[FEATURES], frame.drop(columns=FEATURES)
    return decode(encode(report_state(made, features=features, annotations=about, **options)))


def points_at(path, edge, position):
    start, end = path.nodes_[path.edges_[edge].T]
    return start + position[:, None] * (end - start)


def check(made, frame, new, *, atol=1e-9):
    state = page_of(made, frame)
    is_encoded = "encode" in made.preparation.steps_
    found = linear(state, new if is_encoded else new[FEATURES], new)
    expected = made.place(new).filter(like="projection").to_numpy()
    places = made.trajectory.project(expected)
    size = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol * size)
    edge, position, distance = on_graph(state, expected)
    # What is nearest to a node lies on any of its edges.
    is_inside = (position > 0) & (position < 1)
    np.testing.assert_array_equal(edge[is_inside], places["edge"][is_inside])
    np.testing.assert_allclose(
        points_at(made.trajectory, edge, position),
        points_at(made.trajectory, places["edge"].to_numpy(), places["position"].to_numpy()),
        atol=1e-9 * size,
    )
    np.testing.assert_allclose(distance, places["distance"], atol=1e-9 * size)
    if made.is_rooted:
        reached = times(state, edge, position)
        np.testing.assert_allclose(reached, places["pseudotime"], rtol=1e-9, atol=1e-9)


MODELS = {
    "soft": DDRTree(2, random_state=0),
    "hard": DDRTree(2, assignment="hard", random_state=0),
    "few": DDRTree(2, n_centers=12, sigma=0.01, random_state=0),
    "leaves": DRTree(lam=3.0),
    "squared": SPL(n_neighbors=5),
    "absolute": SPL(loss="absolute", C=0.5),
    "forbidden": SPL(loss="hard"),
    "equality": SPL(loss="equality", n_neighbors=2),
    "unscaled": SPL(scale=None, gamma=0.5),
    "without prior": SPL(gamma=0.0),
    "linear": DDRTree(2, kernel="linear", random_state=0),
    "rbf": DDRTree(2, kernel="rbf", random_state=0),
    "narrow": DRTree(kernel="rbf", kernel_params={"gamma": 0.05}),
    "rbf of SPL": SPL(kernel="rbf"),
    "all components": DDRTree(n_components=None, random_state=0),
    "all of SPL": SPL(n_components=None),
    "part of variance": DRTree(n_components=0.9),
    "four": DDRTree(n_components=4, random_state=0),
    "ring": DDRTree(2, structure="ring", random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_model_places_as_in_python(name, cohort):
    made = fit_pipeline(
        cohort.drop(columns=["age", "site"]),
        MODELS[name],
        Preparation(standardize=True),
        root={} if name == "ring" else {"node": "T1"},
    )
    # scikit-learn's distances of many features are products of matrices, good to half the digits.
    check(made, cohort, new_rows(cohort), atol=1e-7 if name == "rbf of SPL" else 1e-9)


STEPS = {
    "nothing": {},
    "impute": {"impute": "median"},
    "model": {"impute": "model", "standardize": True},
    "model and axes": {"impute": "model", "log1p": True, "standardize": True, "pca": 3},
    "log1p": {"log1p": True},
    "ranks": {"rank_normalize": True},
    "adjust": {"adjust": ["site", "age"]},
    "standardize": {"standardize": True},
    "pca": {"pca": 3},
    "all": {
        "impute": "median",
        "log1p": True,
        "rank_normalize": True,
        "adjust": ["age", "site"],
        "standardize": True,
        "pca": 4,
    },
}


ENCODED = {
    "alone": {},
    "standardize": {"impute": "median", "standardize": True},
    "ranks": {"impute": "median", "log1p": True, "rank_normalize": True, "pca": 5},
    "adjust": {"adjust": ["ward"], "log1p": True, "standardize": True},
}


@pytest.fixture(scope="module")
def clinic(cohort):
    """Simulated: the same patients with categories, an ordered one, and dates."""
    rng = np.random.default_rng(2)
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 9000, 90), "D")
    seen = pd.Timestamp("2020-03-01") + pd.to_timedelta(rng.integers(0, 700, 90), "D")
    return cohort.drop(columns="age").assign(
        smoker=rng.random(90) < 0.3,
        grade=rng.choice(["low", "mid", "high"], 90),
        born=born.strftime("%Y-%m-%d"),
        seen=seen,
        ward=rng.choice(["a", "b"], 90),
    )


def encoding(**options):
    return Preparation(
        categorical=["site", "smoker"],
        ordinal={"grade": ["low", "mid", "high"]},
        dates=["seen"],
        ages={"age": ("born", "seen")},
        **options,
    )


# Days vary more than all else here, and a fit says so.
DAYS = pytest.mark.filterwarnings("ignore:.*'seen' carries")


@DAYS
@pytest.mark.parametrize("name", ENCODED)
def test_categories_and_dates_are_encoded_as_in_python(name, clinic):
    frame = clinic.copy()
    if "impute" in ENCODED[name]:
        frame.iloc[::7, 2] = np.nan
        frame.loc[frame.index[::9], "site"] = None
        frame.loc[frame.index[::11], "born"] = None
    table = frame if "adjust" in ENCODED[name] else frame.drop(columns="ward")
    made = fit_pipeline(table, MODELS["soft"], encoding(**ENCODED[name]))
    check(made, frame, new_rows(frame))


@DAYS
def test_encoded_columns_of_another_table_are_noticed(clinic):
    made = fit_pipeline(clinic.drop(columns="ward"), MODELS["soft"], encoding())
    assert "reason" not in page_of(made, clinic)["model"]
    other = clinic.assign(site=np.roll(clinic["site"], 1))
    assert "reason" in page_of(made, other)["model"]
    # What was encoded may not be at hand; then it is not compared.
    assert "reason" not in page_of(made, clinic.drop(columns="site"))["model"]


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("model", ["soft", "squared"])
def test_every_step_of_the_preparation_is_repeated(name, model, cohort):
    frame = cohort.copy()
    if "impute" in STEPS[name]:
        frame.iloc[::7, 2] = np.nan
    preparation = Preparation(**STEPS[name])
    table = frame if preparation.adjust else frame.drop(columns=["age", "site"])
    check(fit_pipeline(table, MODELS[model], preparation), frame, new_rows(frame))


def test_incomplete_rows_are_dropped_by_the_page(cohort):
    frame = cohort.copy()
    frame.iloc[::9, 1] = np.nan
    table = frame.drop(columns=["age", "site"])
    made = fit_pipeline(table, MODELS["soft"], Preparation(impute="drop", standardize=True))
    kept = frame.dropna()
    state = page_of(made, kept)
    assert state["model"]["drops_missing"]
    expected = made.estimator.projection_
    np.testing.assert_allclose(linear(state, kept[FEATURES]), expected, atol=1e-12)


def test_precomputed_kernels(cohort):
    X = cohort[FEATURES].to_numpy()
    K = X @ X.T
    for model in (DDRTree(2, kernel="precomputed", random_state=0), SPL(kernel="precomputed")):
        model.fit(K)
        state = decode(encode(report_state(Trajectory.from_estimator(model))))
        assert state["model"]["features"][:2] == ["x0", "x1"]
        assert state["model"]["kernel"] is None
        new = (X[:10] * 1.1) @ X.T
        expected = model.project(new)
        np.testing.assert_allclose(linear(state, new), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["soft", "leaves", "squared", "rbf"])
def test_models_in_single_precision(name, cohort):
    X = cohort[FEATURES].to_numpy(np.float32)
    model = MODELS[name].fit(X)
    state = decode(encode(report_state(Trajectory.from_estimator(model), features=X)))
    new = X[:20].astype(float) * 1.07
    for rows in (new, X):
        expected = model.project(rows)
        np.testing.assert_allclose(
            linear(state, rows), expected, atol=1e-6 * np.abs(expected).max()
        )


@pytest.mark.parametrize("name", ["soft", "leaves", "squared", "rbf"])
@pytest.mark.parametrize(
    "options",
    [{}, {"standardize": True}, {"standardize": True, "pca": 3}, {"log1p": True}],
    ids=str,
)
def test_models_of_sparse_data_place_the_rows_of_a_file(name, options, cohort):
    X = cohort[FEATURES].to_numpy() * (cohort[FEATURES].to_numpy() > 2)
    names = list(cohort.index)
    about = pd.DataFrame(index=names)
    table = Table(sparse.csr_array(X), FEATURES, names, about, "simulated")
    made = fit_pipeline(table, MODELS[name], Preparation(**options))
    state = decode(encode(report_state(made, features=table.X, feature_names=FEATURES)))
    new = np.vstack([X[:20] * 1.1, X[-5:]])
    frame = pd.DataFrame(new, columns=FEATURES)
    expected = made.place(frame).filter(like="projection").to_numpy()
    np.testing.assert_allclose(linear(state, new), expected, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("model", [DRTree(n_landmarks=40), SPL(n_landmarks=40)], ids=repr)
def test_models_of_landmarks(model, cohort):
    chunks = da.from_array(cohort[FEATURES].to_numpy(), chunks=(30, 6))
    model.fit(chunks)
    points = model.project(chunks).compute()
    path = Trajectory.from_estimator(model, points=points)
    state = decode(encode(report_state(path, features=cohort[FEATURES])))
    found = linear(state, cohort[FEATURES])
    np.testing.assert_allclose(found, points, atol=1e-9 * np.abs(points).max())


def test_models_of_dask_arrays(cohort):
    chunks = da.from_array(cohort[FEATURES].to_numpy(), chunks=(30, 6))
    model = DDRTree(2, n_centers=20, random_state=0).fit(chunks)
    path = Trajectory.from_estimator(model)
    state = decode(encode(report_state(path, features=cohort[FEATURES])))
    new = cohort[FEATURES].to_numpy() * 1.1
    np.testing.assert_allclose(linear(state, new), model.project(new), atol=1e-9)


def test_samples_that_were_placed_later(cohort):
    """Their features are not those of the fit, and need not be."""
    model = MODELS["soft"].fit(cohort[FEATURES].iloc[:45])
    later = cohort[FEATURES].iloc[45:]
    path = Trajectory.from_estimator(model, points=model.project(later))
    state = decode(encode(report_state(path, features=later)))
    np.testing.assert_allclose(linear(state, later), model.project(later), atol=1e-9)


@pytest.mark.parametrize("root", [{"sample": "P3"}, {"sample": "P40"}, {"node": "T2"}], ids=str)
def test_places_from_any_root(root, cohort):
    made = fit_pipeline(
        cohort.drop(columns=["age", "site"]), MODELS["soft"], Preparation(log1p=True), root=root
    )
    check(made, cohort, new_rows(cohort))


def test_features_in_another_precision_than_that_of_the_fit(cohort):
    model = MODELS["soft"].fit(cohort[FEATURES].to_numpy(np.float32))
    path = Trajectory.from_estimator(model)
    assert "reason" not in report_state(path, features=cohort[FEATURES])["model"]


@pytest.mark.filterwarnings("ignore:1 feature has the same value")
def test_constant_and_explained_features(cohort):
    frame = cohort.assign(**{"lab 1": 3.0, "lab 2": 2 * cohort["age"] + 1})
    for preparation in (
        Preparation(adjust=["age"], standardize=True),
        Preparation(rank_normalize=True, standardize=True),
    ):
        table = frame if preparation.adjust else frame.drop(columns=["age"])
        made = fit_pipeline(table.drop(columns=["site"]), MODELS["soft"], preparation)
        # What is constant says nothing: rows that differ in it alone are the same.
        check(made, frame, new_rows(frame).assign(**{"lab 1": 4.0}))


# What cannot be placed, and why


def reason(result, **options):
    return report_state(result, **options)["model"]["reason"]


def test_graphs_that_were_given():
    path = Trajectory([[0, 1]], np.array([[0.0], [4.0]]))
    assert reason(path).startswith("This graph was given, not learned by branchwise")
    assert "Trajectory.project in Python instead." in reason(path)


def test_kernels_that_are_functions(cohort):
    model = DDRTree(2, kernel=lambda a, b: a @ b.T, random_state=0).fit(cohort[FEATURES].to_numpy())
    told = reason(Trajectory.from_estimator(model))
    assert "the kernel of this DDRTree is a function in Python" in told


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("rbf", "the training samples, which its kernel needs, would take 0 MiB"),
        ("soft", "its model would take 0 MiB"),
    ],
)
def test_models_that_are_too_large(name, what, cohort, monkeypatch):
    monkeypatch.setattr(placing, "MAX_MODEL_BYTES", 90)
    model = MODELS[name].fit(cohort[FEATURES])
    told = reason(Trajectory.from_estimator(model))
    assert what in told
    assert told.endswith("use branchwise transform, or Trajectory.place in Python, instead.")


def test_preparations_that_are_too_large(cohort, monkeypatch):
    monkeypatch.setattr(placing, "MAX_MODEL_BYTES", 8 * 90 * 6)
    table = cohort.drop(columns=["age", "site"])
    made = fit_pipeline(table, MODELS["soft"], Preparation(rank_normalize=True))
    assert "its model would take 0 MiB" in reason(made)


def test_nodes_of_models_that_place_nothing_have_the_dimensions_that_are_drawn(cohort, monkeypatch):
    path = Trajectory.from_estimator(MODELS["four"].fit(cohort[FEATURES]))
    assert report_state(path)["graph"]["node_dims"] == 4
    monkeypatch.setattr(placing, "MAX_MODEL_BYTES", 90)
    graph = report_state(path)["graph"]
    assert graph["node_dims"] == 3
    assert graph["nodes"].shape == (len(path.nodes_), 3)
    np.testing.assert_array_equal(graph["lengths"], path.lengths_)


def test_features_that_are_not_those_of_the_fit(cohort):
    """Scaled by hand: a new table would be scaled by nobody."""
    X = cohort[FEATURES]
    path = Trajectory.from_estimator(MODELS["soft"].fit(((X - X.mean()) / X.std()).to_numpy()))
    told = reason(path, features=X.to_numpy(), feature_names=FEATURES)
    assert "the features in it are not those that the DDRTree was fitted to" in told
    other = Preparation(standardize=True).fit(X.to_numpy() + 1)
    told = reason(path, features=X.to_numpy(), feature_names=FEATURES, preparation=other)
    assert "the preparation does not make of the features in it what the DDRTree was" in told


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("options", [None, {"standardize": True}, {"log1p": True, "pca": 3}])
def test_rows_in_another_order_than_that_of_the_fit(options, kind, cohort):
    X = cohort[FEATURES].to_numpy()
    X[1] = X[0]
    preparation = None if options is None else Preparation(**options)
    rows = X if preparation is None else preparation.fit_transform(kind(X))
    path = Trajectory.from_estimator(MODELS["soft"].fit(rows))
    order = np.random.default_rng(0).permutation(90)
    message = "features has the rows of the fit in another order; pass them in the order in which"
    with pytest.raises(ValueError, match=message):
        report_state(path, features=kind(X[order]), preparation=preparation)
    # Equal rows stand for one another.
    same = kind(X[[1, 0, *range(2, 90)]])
    assert "reason" not in report_state(path, features=same, preparation=preparation)["model"]


def test_wrong_preparations(cohort):
    X = cohort[FEATURES].to_numpy()
    path = Trajectory.from_estimator(MODELS["soft"].fit(X))
    with pytest.raises(TypeError, match="preparation is a str, but must be a branchwise"):
        report_state(path, features=X, preparation="standardize")
    with pytest.raises(
        TypeError, match="preparation is a StandardScaler, but must be a branchwise"
    ):
        report_state(path, features=X, preparation=StandardScaler().fit(X))
    with pytest.raises(ValueError, match="preparation is not fitted; pass the one that made what"):
        report_state(path, features=X, preparation=Preparation(standardize=True))
    with pytest.raises(ValueError, match="preparation makes 2 features, but the DDRTree was fitte"):
        report_state(path, preparation=Preparation(pca=2).fit(X))
    made = fit_pipeline(cohort[FEATURES], MODELS["soft"], Preparation(standardize=True))
    with pytest.raises(ValueError, match="preparation was passed with a Pipeline, which brings"):
        report_state(made, preparation=made.preparation)


@pytest.mark.parametrize("name", ["soft", "squared", "rbf"])
def test_files_that_do_not_know_whether_scaled_rows_were_centred(name, cohort):
    """Earlier versions centred the rows of a file, whatever the model was fitted to."""
    X, names = cohort[FEATURES].to_numpy(), list(cohort.index)
    for kind in (np.asarray, sparse.csr_array):
        table = Table(kind(X), FEATURES, names, pd.DataFrame(index=names), "simulated")
        made = fit_pipeline(table, MODELS[name], Preparation(standardize=True))
        steps = made.preparation.steps_
        steps["standardize"] = steps["standardize"]._replace(is_centred=None)
        for features in (None, table.X):
            state = report_state(made, features=features)["model"]
            told = state.get("reason", "places")
            if kind is np.asarray:
                assert told == "places"
            else:
                assert "fitted to a sparse table by an earlier version of branchwise" in told


def test_a_preparation_of_the_users_own(cohort):
    preparation = Preparation(standardize=True)
    model = MODELS["soft"].fit(preparation.fit_transform(cohort[FEATURES]))
    path = Trajectory.from_estimator(model)
    state = decode(encode(report_state(path, features=cohort[FEATURES], preparation=preparation)))
    new = new_rows(cohort)[FEATURES]
    expected = model.project(preparation.transform(new))
    np.testing.assert_allclose(linear(state, new), expected, atol=1e-9)
    assert state["model"]["features"] == FEATURES


def test_names_that_do_not_tell_features_apart(cohort):
    model = MODELS["soft"].fit(cohort[FEATURES].to_numpy())
    path = Trajectory.from_estimator(model)
    assert report_state(path)["model"]["features"] == [f"x{k}" for k in range(6)]
    told = placing.model_state(path, None, ["a", "a", "b", "c", "d", "e"], None, None)["reason"]
    assert "5 different names are known of 6 features" in told


def test_nothing_of_the_training_rows_is_in_the_model(cohort):
    """But with a kernel, which is evaluated with them."""
    for name in ("soft", "leaves", "squared"):
        path = Trajectory.from_estimator(MODELS[name].fit(cohort[FEATURES]))
        state = report_state(path, features=cohort[FEATURES])["model"]
        arrays = [value for value in state.values() if isinstance(value, np.ndarray)]
        # The mean, the components, and percentiles of distances.
        assert sorted(array.size for array in arrays) == [
            6,
            12,
            101,
        ]  # mean, components, percentiles


def test_covariates_are_asked_for(cohort):
    made = fit_pipeline(cohort, MODELS["soft"], Preparation(adjust=["age", "site"]))
    assert "reason" not in report_state(made, features=cohort[FEATURES])["model"]
    assert report_state(made)["model"]["covariates"] == ["age", "site"]
