"""Unusual input: an error that says what to do, or a correct result; never a stray warning."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import kneighbors_graph

from branchwise import SPL, DDRTree, DRTree

from ..conftest import branching

NAMES = ["SPL", "DRTree", "DDRTree"]
# One centre per sample, few centres, and hard assignments take different paths.
VARIANTS = [*NAMES, "DDRTree K=6", "DDRTree hard", "DDRTree by default"]


def build(name, n_samples=40, **params):
    """An estimator that suits the number of samples."""
    if name == "SPL":
        return SPL(**{"n_neighbors": min(5, n_samples - 1), **params})
    if name == "DRTree":
        return DRTree(**params)
    if name == "DDRTree by default":
        return DDRTree(**params)
    few = {} if name == "DDRTree" else {"n_centers": min(6, n_samples)}
    hard = {"assignment": "hard"} if name == "DDRTree hard" else {}
    return DDRTree(**{"n_components": 2, "random_state": 0, **few, **hard, **params})


def fit(name, X, **params):
    return build(name, X.shape[0], **params).fit(X)


def energy(X):
    return np.sum((X - X.mean(axis=0)) ** 2)


def size(model):
    return np.abs(model.embedding_).max()


def assert_sound(model, X):
    """What every result has to be, whatever the data."""
    X = np.asarray(X, dtype=float)
    n_components = len(model.components_)
    assert model.embedding_.shape == (len(X), n_components)
    assert model.components_.shape == (n_components, X.shape[1])
    assert model.converged_
    for array in (model.embedding_, model.components_, model.mean_, model.objective_history_):
        assert np.isfinite(array).all()
    gram = model.components_ @ model.components_.T
    np.testing.assert_allclose(gram, np.eye(n_components), atol=1e-12)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    assert np.isfinite(model.inverse_transform(model.embedding_)).all()
    steps = np.diff(model.objective_history_)
    if isinstance(model, SPL):
        assert (steps >= 0).all()
        assert model.graph_.data.min(initial=1.0) > 0
        assert (model.graph_ != model.graph_.T).nnz == 0
    else:
        assert steps.max(initial=0.0) <= 1e-12 * energy(X)
        assert_is_tree(model.tree_, len(model.centers_))
        np.testing.assert_allclose(model.assignments_.sum(axis=1), 1)


def assert_is_tree(tree, n_nodes):
    assert tree.shape == (n_nodes, n_nodes)
    assert (tree != tree.T).nnz == 0
    assert tree.nnz == 2 * (n_nodes - 1)
    assert connected_components(tree, directed=False)[0] == 1


def assert_same(model, expected, *, unit=1.0, atol=1e-8):
    """The same embedding, up to a unit, and the same components."""
    np.testing.assert_allclose(
        model.embedding_ / unit / size(expected), expected.embedding_ / size(expected), atol=atol
    )
    np.testing.assert_allclose(model.components_, expected.components_, atol=atol)


def pca_scores(model, X):
    return (X - X.mean(axis=0)) @ model.components_.T


@pytest.fixture(params=NAMES)
def name(request):
    return request.param


@pytest.fixture(params=VARIANTS)
def variant(request):
    return request.param


@pytest.fixture
def X():
    return branching(40, 4)


# Data that are refused


def spoilt(X, value):
    X = X.copy()
    X[3, 1] = value
    return X


@pytest.mark.parametrize(
    "container", [np.asarray, sparse.csr_array, sparse.csc_array, pd.DataFrame]
)
@pytest.mark.parametrize(("value", "shown"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_missing_and_infinite_values_are_located(name, X, container, value, shown):
    bad = container(spoilt(X, value))
    message = rf"X\[3, 1\] is {shown}, but every value must be finite; drop such rows or replace"
    with pytest.raises(ValueError, match=message):
        build(name).fit(bad)
    model = fit(name, container(X))
    with pytest.raises(ValueError, match=message):
        model.transform(bad)


def test_missing_values_of_pandas_are_located(name, X):
    frame = pd.DataFrame(X).astype("Float64")
    frame.iloc[3, 1] = pd.NA
    with pytest.raises(ValueError, match=r"X\[3, 1\] is NaN, .*impute=\"model\" fills in NaN"):
        build(name).fit(frame)


def test_columns_of_the_same_name_are_refused(name, X):
    frame = pd.DataFrame(X[:, [0, 1, 0]], columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="X has 2 columns named 'a', but names must be unique"):
        build(name).fit(frame)


@pytest.mark.parametrize("n_samples", [0, 1])
def test_fewer_than_two_samples_are_refused(name, X, n_samples):
    message = rf"Found array with {n_samples} sample.* minimum of 2 is required by {name}"
    with pytest.raises(ValueError, match=message):
        build(name).fit(X[:n_samples])


def test_data_without_features_are_refused(name, X):
    with pytest.raises(ValueError, match=r"Found array with 0 feature\(s\)"):
        build(name).fit(X[:, :0])


def test_one_and_three_dimensional_arrays_are_refused(name, X):
    with pytest.raises(
        ValueError, match=r"Expected 2D array, got 1D array(.|\n)*Reshape your data"
    ):
        build(name).fit(X[0])
    with pytest.raises(ValueError, match=r"dim 3.*; pass one row per sample and one column per"):
        build(name).fit(X[np.newaxis])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        fit(name, X).transform(X[0])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        build(name).fit([])


@pytest.mark.parametrize(
    "table",
    [
        np.array([["a", "b"], ["c", "d"], ["e", "f"]]),
        [["1.5", "x"], ["2.5", "y"], ["0.5", "z"]],
        pd.DataFrame({"age": [61, 57, 70], "sex": ["f", "m", "f"]}),
        pd.DataFrame({"age": [61, 57, 70], "sex": pd.Categorical(["f", "m", "f"])}),
    ],
)
def test_text_is_refused_with_the_remedy(name, table):
    message = r"could not convert string to float(.|\n)*drop columns of text or encode them"
    with pytest.raises(ValueError, match=message):
        build(name, 3).fit(table)


def test_objects_are_refused_with_the_remedy(name):
    table = np.array([[{}, 1.0], [2.0, 3.0]], dtype=object)
    with pytest.raises(TypeError, match=r"not 'dict'; X must hold numbers"):
        build(name, 2).fit(table)


def test_complex_numbers_are_refused(name, X):
    with pytest.raises(ValueError, match=r"Complex data not supported; X must hold real numbers"):
        build(name).fit(X + 1j)


def test_values_whose_squares_overflow_or_vanish_are_refused(name, X):
    X = X / np.abs(X).max()
    with pytest.raises(
        ValueError, match=r"X holds a value of size 1e\+200, .* divide X by 1e\+200"
    ):
        build(name).fit(1e200 * X)
    with pytest.raises(
        ValueError, match=r"largest value of X has size 1e-200, .* divide X by 1e-200"
    ):
        build(name).fit(1e-200 * X)
    with pytest.raises(
        ValueError, match=r"X holds a value of size 1e\+200, .* at most .* overflow"
    ):
        fit(name, X).transform(1e200 * X)


# Unusual data in the space of the features, and in that of kernel values


UNUSUAL = {
    "two samples": lambda X: X[:2],
    "three samples": lambda X: X[:3],
    "one feature": lambda X: X[:, :1],
    "equal": lambda X: np.repeat(X[:1], 12, axis=0),
    "zero": lambda X: np.zeros_like(X),
    "repeated": lambda X: np.repeat(X[:10], 3, axis=0),
    "constant feature": lambda X: np.column_stack([X, X, np.ones(40)]),
    "units": lambda X: X * [1e-6, 1.0, 1e6, 1e3],
    "offset": lambda X: X + 1e6,
    "D > N": lambda X: X[:5] @ np.ones((4, 30)),
    "huge": lambda X: 1e100 * X,
    "tiny": lambda X: 1e-100 * X,
}


@pytest.mark.parametrize("options", [{"n_components": None}, {"kernel": "rbf"}], ids=str)
@pytest.mark.parametrize("unusual", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_unusual_data_with_all_components_or_a_kernel(variant, X, options, unusual):
    data = unusual(X)
    model = fit(variant, data, **options)
    assert model.converged_
    n_columns = data.shape[1] if "n_components" in options else len(data)
    assert model.components_.shape[1] == n_columns
    for array in (model.embedding_, model.objective_history_, model.transform(data[:1] * 1.01)):
        assert np.isfinite(array).all()
    back = model.inverse_transform(model.embedding_)
    assert back.shape == (len(data), n_columns)
    np.testing.assert_allclose(back.mean(axis=0), model.mean_, atol=1e-6 * np.abs(back).max())
    if "n_components" in options:
        np.testing.assert_allclose(model.mean_, data.mean(axis=0), rtol=1e-9)
        offset = np.abs(back - data).max(axis=0)
        assert (offset <= np.ptp(data, axis=0) * (1 + 1e-6) + 1e-12 * np.abs(data).max()).all()


# Parameters that are refused


@pytest.mark.parametrize("shape", [(3, 5), (20, 4), (20, 1), (5, 5)])
def test_too_many_components_are_refused(name, rng, shape):
    limit = min(shape)
    lacking = "samples" if shape[0] < shape[1] else "features"
    message = (
        rf"n_components={limit + 1} must be at most min\(n_samples, n_features\)={limit} "
        rf"\(n_samples={shape[0]}, n_features={shape[1]}\); lower n_components or add {lacking}\."
    )
    with pytest.raises(ValueError, match=message):
        fit(name, rng.normal(size=shape), n_components=limit + 1)


@pytest.mark.parametrize(
    ("parameter", "value", "constraint"),
    [
        *(
            (
                "n_components",
                value,
                r"an int in .* \[1, inf\), a float in .* \(0.0, 1.0\), a str .* or None",
            )
            for value in (0, -1, 0.0, 1.0, 1.5, -0.5, np.nan, "two")
        ),
        ("max_iter", 0, r"an int in the range \[1, inf\)"),
        ("max_iter", 2.5, r"an int in the range \[1, inf\)"),
        ("tol", -1e-3, r"a float in the range \[0.0, inf\)"),
        ("tol", np.nan, r"a float in the range \[0.0, inf\)"),
        ("callback", "print", "a callable or None"),
        ("verbose", -1, r"an int in the range \[0, inf\)"),
        ("random_state", "seed", r"an int in the range \[0, 4294967295\]"),
        ("kernel", "poly", r"a str among \{.*'rbf'.*\}, a callable or None"),
        ("kernel", 3, r"a str among \{.*'rbf'.*\}, a callable or None"),
        ("kernel_params", 0.5, r"an instance of 'dict' or None"),
    ],
)
def test_common_parameters_out_of_range_are_refused(name, X, parameter, value, constraint):
    message = rf"The '{parameter}' parameter of {name} must be {constraint}.* Got {value!r} instead"
    with pytest.raises(ValueError, match=message):
        fit(name, X, **{parameter: value})


POSITIVE = r"a float in the range \(0.0, inf\)"
UP_TO_A_TRILLION = r"a float in the range \[0.0, 1000000000000.0\]"


@pytest.mark.parametrize(
    ("name", "parameter", "value", "constraint"),
    [
        ("SPL", "n_neighbors", 0, r"an int in the range \[1, inf\)"),
        ("SPL", "n_neighbors", 2.5, r"an int in the range \[1, inf\)"),
        *(
            ("SPL", "C", value, r"a float in the range \(0.0, inf\]\.")
            for value in (0, -1.0, np.nan, -np.inf, "hard")
        ),
        *(
            ("SPL", "loss", value, r"a str among \{'(absolute|equality|hard|squared)', ")
            for value in ("l3", None, 2)
        ),
        *(("SPL", "gamma", value, UP_TO_A_TRILLION) for value in (-1e-3, np.nan, np.inf, "auto")),
        *(
            (
                "SPL",
                "scale",
                value,
                r"a float in the range \[1e-100, 1e\+100\]" + r", a str among \{'auto'\} or None",
            )
            for value in (0, -1.0, np.nan, "big")
        ),
        *(
            (name, "lam", value, UP_TO_A_TRILLION + r" or a str among \{'auto'\}")
            for name in ("DRTree", "DDRTree")
            for value in (-1.0, np.nan, np.inf, "big")
        ),
        *(
            ("DDRTree", "gamma", value, r"a float in the range \(0.0, 1000000000000.0\]")
            for value in (0, -1.0, np.nan)
        ),
        *(
            ("DDRTree", "sigma", value, POSITIVE + r" or a str among \{'auto'\}")
            for value in (0, -1.0, np.nan, "wide")
        ),
        ("DDRTree", "assignment", "fuzzy", r"a str among \{'(soft|hard)', '(soft|hard)'\}"),
        *(
            ("DDRTree", "n_centers", value, r"an int in the range \[1, inf\), a str .* or None")
            for value in (0, -3, 2.5, "many")
        ),
        ("DDRTree", "init", "k-means", "an array-like or None"),
    ],
)
def test_own_parameters_out_of_range_are_refused(X, name, parameter, value, constraint):
    message = rf"The '{parameter}' parameter of {name} must be {constraint}.* Got {value!r} instead"
    with pytest.raises(ValueError, match=message):
        fit(name, X, **{parameter: value})


@pytest.mark.parametrize(
    ("kernel", "params", "takes"),
    [
        ("rbf", {"width": 2.0, "degree": 3}, "degree, width, .*kernel='rbf' takes only 'gamma'"),
        ("linear", {"gamma": 2.0}, "gamma, .*kernel='linear' takes no parameters"),
        ("precomputed", {"gamma": 2.0}, "gamma, .*kernel='precomputed' takes no parameters"),
        (None, {"gamma": 2.0}, "gamma, .*kernel=None takes no parameters"),
    ],
)
def test_parameters_that_the_kernel_does_not_take_are_refused(name, X, kernel, params, takes):
    with pytest.raises(ValueError, match=rf"kernel_params names {takes}; remove what it does not"):
        fit(name, X, kernel=kernel, kernel_params=params)


@pytest.mark.parametrize("gamma", [0, -1.0, np.nan, np.inf, "auto", None, True])
def test_gamma_of_rbf_out_of_range_is_refused(name, X, gamma):
    message = rf"kernel_params=\{{'gamma': {gamma!r}\}} must have a positive finite gamma; leave it"
    with pytest.raises(ValueError, match=message):
        fit(name, X, kernel="rbf", kernel_params={"gamma": gamma})


def test_a_precomputed_kernel_has_to_be_square(name, X):
    message = r"X has shape \(40, 4\), but with kernel='precomputed' must be .*; compute it, or set"
    with pytest.raises(ValueError, match=message):
        fit(name, X, kernel="precomputed")
    model = fit(name, X @ X.T, kernel="precomputed")
    message = (
        rf"X has 4 features, but {name} is expecting 40 features.*one for each training sample"
    )
    with pytest.raises(ValueError, match=message):
        model.transform(X)


def test_more_components_than_columns_of_the_kernel_are_refused(name, X):
    for kernel, data in [("rbf", X), ("precomputed", X @ X.T)]:
        message = (
            r"n_components=41 must be at most n_samples=40, the number of columns of the kernel "
            r"matrix; lower n_components or add samples\."
        )
        with pytest.raises(ValueError, match=message):
            fit(name, data, kernel=kernel, n_components=41)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (
            lambda A, B: (A @ B.T)[:, :3],
            ValueError,
            r"returned an array of shape \(40, 3\) for 40 and 40 samples, but must return shape "
            r"\(40, 40\), one row per .*; change the callable",
        ),
        (lambda A, B: float(A[0] @ B[0]), ValueError, r"returned an array of shape \(\) for 40"),
        (lambda A, B: None, ValueError, r"returned an array of shape \(\)"),
        (lambda A, B: np.full((len(A), len(B)), "a"), TypeError, r"values of type <U1, but must"),
        (lambda A, B: 1j * A @ B.T, TypeError, r"values of type complex128, but must return real"),
        (lambda A, B: np.nan * A @ B.T, ValueError, r"returned NaN, but every value must be fin"),
        (lambda A, B: np.full((len(A), len(B)), np.inf), ValueError, r"an infinite value, but eve"),
    ],
)
def test_what_a_callable_kernel_returns_is_checked(name, X, kernel, error, message):
    with pytest.raises(error, match=f"the callable kernel {message}|{message}"):
        fit(name, X, kernel=kernel)


def test_a_callable_kernel_is_checked_in_transform(name, X):
    def kernel(A, B):
        return A @ B.T if len(A) == len(B) else np.zeros(3)

    with pytest.raises(ValueError, match=r"returned an array of shape \(3,\) for 2 and 40 samples"):
        fit(name, X, kernel=kernel).transform(X[:2] + 0.1)


def test_errors_of_a_callable_kernel_are_the_caller_s(name, X):
    with pytest.raises(TypeError, match="unexpected keyword argument 'width'"):
        fit(name, X, kernel=lambda A, B: A @ B.T, kernel_params={"width": 1})


def test_kernel_values_whose_squares_overflow_or_vanish_are_refused(name, X):
    X = X / np.abs(X).max()
    with pytest.raises(
        ValueError, match=r"the kernel matrix holds a value of size .*e\+200, .* ove"
    ):
        fit(name, 1e100 * X, kernel="linear")
    with pytest.raises(
        ValueError, match=r"largest value of the kernel matrix has size .*e-200, but"
    ):
        fit(name, 1e-100 * X, kernel="linear")


@pytest.mark.parametrize("n_neighbors", [40, 100])
def test_as_many_neighbours_as_samples_are_refused(X, n_neighbors):
    message = (
        rf"n_neighbors={n_neighbors} must be less than n_samples=40; "
        r"set n_neighbors to at most 39 or add samples\."
    )
    with pytest.raises(ValueError, match=message):
        SPL(n_neighbors=n_neighbors).fit(X)


def test_neighbour_graphs_that_do_not_fit_are_refused(X):
    with pytest.raises(
        ValueError, match=r"neighbors has shape \(30, 30\) but must be .*\(40, 40\); b"
    ):
        SPL().fit(X, neighbors=kneighbors_graph(X[:30], 5))
    with pytest.raises(ValueError, match=r"neighbors has shape \(40, 30\) but must be"):
        SPL().fit(X, neighbors=sparse.csr_array((40, 30)))
    with pytest.raises(TypeError, match=r"got ndarray; build one with .*kneighbors_graph"):
        SPL().fit(X, neighbors=kneighbors_graph(X, 5).toarray())
    for edgeless in (sparse.csr_array((40, 40)), sparse.eye_array(40)):
        with pytest.raises(
            ValueError, match=r"no entry off its diagonal .*; build it with .*neigh"
        ):
            SPL().fit(X, neighbors=edgeless)


def test_more_centres_than_samples_are_refused(X):
    message = r"n_centers=41 must be at most n_samples=40; lower n_centers, or set n_centers=None"
    with pytest.raises(ValueError, match=message):
        DDRTree(2, n_centers=41).fit(X)


@pytest.mark.parametrize("shape", [(5, 3), (5,), (0, 2), (5, 2, 2)])
def test_init_of_another_shape_is_refused(X, shape):
    text = str(shape).replace("(", r"\(").replace(")", r"\)")
    message = (
        rf"init has shape {text} but must be \(n_centers, n_components\) with n_components=2; g"
    )
    with pytest.raises(ValueError, match=message):
        DDRTree(2, init=np.zeros(shape)).fit(X)


@pytest.mark.parametrize(("n_centers", "wanted"), [(4, 4), (6, 6), (None, 40)])
def test_init_that_disagrees_with_n_centers_is_refused(X, n_centers, wanted):
    message = (
        rf"init has 5 rows but n_centers={n_centers} asks for {wanted}; they must agree: "
        r'set n_centers="auto"'
    )
    with pytest.raises(ValueError, match=message):
        DDRTree(n_centers=n_centers, init=np.zeros((5, 2))).fit(X)


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "NaN"), (np.inf, "inf")])
def test_init_that_is_not_finite_is_refused(X, value, shown):
    init = np.zeros((5, 2))
    init[2, 1] = value
    with pytest.raises(
        ValueError, match=rf"init\[2, 1\] is {shown}, but every value must be finite"
    ):
        DDRTree(2, init=init).fit(X)


def test_complex_init_is_refused(X):
    with pytest.raises(ValueError, match="Complex data not supported"):
        DDRTree(init=np.zeros((5, 2)) + 1j).fit(X)


# Calls that are refused


@pytest.mark.parametrize("method", ["transform", "inverse_transform"])
def test_methods_of_an_unfitted_model_ask_for_fit(name, X, method):
    message = rf"This {name} instance is not fitted yet. Call 'fit' with appropriate arguments"
    with pytest.raises(NotFittedError, match=message):
        getattr(build(name), method)(X)


def test_transform_asks_for_the_features_of_fit(name, X):
    message = rf"X has 3 features, but {name} is expecting 4 features.*; pass the columns"
    with pytest.raises(ValueError, match=message):
        fit(name, X).transform(X[:, :3])


def test_inverse_transform_asks_for_one_column_per_component(name, X):
    model = fit(name, X)
    message = (
        r"shape \(n_samples, 2\), one column per component, got \(40, 4\); pass what transform"
    )
    with pytest.raises(ValueError, match=message):
        model.inverse_transform(X)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        model.inverse_transform(X[0, :2])
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        model.inverse_transform(sparse.csr_array(X[:, :2]))


@pytest.mark.parametrize(("value", "shown"), [(np.nan, "NaN"), (np.inf, "inf")])
def test_inverse_transform_refuses_values_that_are_not_finite(name, X, value, shown):
    with pytest.raises(ValueError, match=rf"X\[3, 1\] is {shown}, but every value must be finite"):
        fit(name, X).inverse_transform(spoilt(X, value)[:, :2])
    with pytest.raises(ValueError, match="Complex data not supported"):
        fit(name, X).inverse_transform(X[:, :2] + 1j)


def test_stopping_early_names_the_knob(name, X):
    message = rf"{name} stopped after 1 of max_iter=1 iterations .* raise max_iter or tol\."
    with pytest.warns(ConvergenceWarning, match=message):
        fit(name, X, max_iter=1)


# Repeated and constant values


def test_half_of_the_samples_equal(variant, X):
    X[:20] = X[0]
    model = fit(variant, X)
    assert_sound(model, X)
    assert np.ptp(model.embedding_[20:], axis=0).min() > 0
    if isinstance(model, DDRTree):
        np.testing.assert_allclose(np.ptp(model.embedding_[:20], axis=0), 0, atol=1e-10)
        assert len(np.unique(model.labels_[:20])) == 1
    assert (model.transform(X[:20]) == model.embedding_[0]).all()


def test_pairs_of_equal_samples(variant, X):
    X = np.repeat(X[:20], 2, axis=0)
    model = fit(variant, X)
    assert_sound(model, X)
    apart = np.abs(model.embedding_[::2] - model.embedding_[1::2]).max()
    if isinstance(model, DRTree):
        # Nodes of a tree with different neighbours, but joined by an edge.
        assert (model.tree_.toarray()[np.arange(0, 40, 2), np.arange(1, 40, 2)] == 1).all()
    else:
        assert apart <= 1e-6 * size(model)


def test_all_samples_equal(variant):
    X = np.full((40, 4), [3.7, -0.1, 0.0, 1e5])
    model = fit(variant, X)
    assert_sound(model, X)
    np.testing.assert_allclose(model.embedding_, 0, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(model.embedding_), X, atol=1e-9)


def test_all_values_zero(variant):
    X = np.zeros((40, 4))
    model = fit(variant, X)
    assert_sound(model, X)
    assert (model.embedding_ == 0).all()
    assert (model.inverse_transform(model.embedding_) == 0).all()


def test_constant_features_get_no_weight(variant, X):
    constant = np.insert(X, [1, 4], [5.0, -1e6], axis=1)
    model = fit(variant, constant)
    assert_sound(model, constant)
    np.testing.assert_allclose(model.components_[:, [1, 5]], 0, atol=1e-12)
    back = model.inverse_transform(model.embedding_)
    np.testing.assert_allclose(back[:, [1, 5]], constant[:, [1, 5]], rtol=1e-12)
    without = fit(variant, X)
    np.testing.assert_allclose(
        model.embedding_ / size(without), without.embedding_ / size(without), atol=1e-6
    )


@pytest.mark.parametrize("params", [{}, {"lam": 0}, {"lam": 1e-3}])
@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_more_centres_than_distinct_samples(X, assignment, params):
    X = np.repeat(X[:3], 10, axis=0)
    model = DDRTree(2, n_centers=7, assignment=assignment, random_state=0, **params).fit(X)
    assert_sound(model, X)
    assert model.centers_.shape == (7, 2)
    np.testing.assert_allclose(np.ptp(model.embedding_[:10], axis=0), 0, atol=1e-10)
    if params == {"lam": 0} and assignment == "hard":
        nearest = np.abs(model.centers_[:, np.newaxis] - model.embedding_[::10]).max(axis=2)
        np.testing.assert_allclose(nearest.min(axis=1), 0, atol=1e-10)


def test_centres_start_in_all_of_many_repeated_samples():
    X = np.repeat([[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]], 300, axis=0)
    model = DDRTree(n_components=1, n_centers=2, lam=1.0, random_state=0).fit(X)
    assert_sound(model, X)
    np.testing.assert_allclose(np.sort(model.centers_.ravel()), [-5, 5], atol=0.1)
    assert len(np.unique(model.labels_[:300])) == len(np.unique(model.labels_[300:])) == 1


# Few samples, few or many features, low rank


def test_two_samples(name):
    X = np.array([[1.0, 2.0, 2.0], [3.0, 4.0, 1.0]])
    model = fit(name, X)
    assert_sound(model, X)
    assert (model.embedding_[:, 1] == 0).all()
    np.testing.assert_allclose(model.embedding_[0], -model.embedding_[1], atol=1e-12)
    np.testing.assert_allclose(np.abs(model.components_[0]), [2 / 3, 2 / 3, 1 / 3], atol=1e-12)
    if name == "DRTree":
        # ±1.5 on one edge: (I + λL)⁻¹ has eigenvalue 1/(1 + 2λ) along (1, −1), and λ = 0.2.
        np.testing.assert_allclose(np.abs(model.embedding_[:, 0]), 1.5 / 1.4)


def test_three_samples(variant):
    X = np.array([[0.0, 0.0], [1.0, 0.1], [5.0, 0.0]])
    model = fit(variant, X)
    assert_sound(model, X)
    if not isinstance(model, SPL):
        np.testing.assert_array_equal(model.tree_.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def test_one_feature(variant, X):
    X = X[:, :1]
    model = fit(variant, X, n_components=1)
    assert_sound(model, X)
    np.testing.assert_array_equal(model.components_, [[1.0]])
    assert np.corrcoef(model.embedding_.ravel(), X.ravel())[0, 1] > 0.9
    if isinstance(model, DRTree):
        np.testing.assert_array_equal(np.argsort(model.embedding_, 0), np.argsort(X, 0))


def test_one_component(variant, X):
    model = fit(variant, X, n_components=1)
    assert_sound(model, X)
    assert np.abs(np.corrcoef(model.embedding_.ravel(), pca_scores(model, X).ravel())[0, 1]) > 0.7


def test_more_features_than_samples(variant, rng):
    X = rng.normal(size=(12, 11)) * np.linspace(3, 1, 11)
    basis = np.linalg.qr(rng.normal(size=(60, 11)))[0]
    wide = X @ basis.T
    model = fit(variant, wide, n_components=3)
    assert_sound(model, wide)
    narrow = fit(variant, X, n_components=3)
    signs = np.sign(np.sum(model.embedding_ * narrow.embedding_, axis=0))
    np.testing.assert_allclose(
        model.embedding_ * signs / size(narrow), narrow.embedding_ / size(narrow), atol=1e-6
    )


@pytest.mark.parametrize("shape", [(40, 5), (6, 9)])
def test_components_beyond_the_rank_are_orthonormal_and_empty(variant, rng, shape):
    X = rng.normal(size=(shape[0], 2)) @ rng.normal(size=(2, shape[1])) + 100.0
    model = fit(variant, X, n_components=4)
    assert_sound(model, X)
    assert (model.embedding_[:, 2:] == 0).all()
    assert np.ptp(model.embedding_[:, :2], axis=0).min() > 0
    if not isinstance(model, SPL):
        assert (model.centers_[:, 2:] == 0).all()
        two = fit(variant, X, n_components=2)
        np.testing.assert_allclose(model.embedding_[:, :2], two.embedding_, atol=1e-8 * size(two))


def test_float_n_components_of_samples_without_variance(name):
    model = fit(name, np.ones((40, 4)), n_components=0.9)
    assert (model.embedding_ == 0).all()


# Containers and number types


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float16, object])
def test_numbers_of_other_types_are_taken_as_floats(variant, X, dtype):
    X = np.round(10 * (X - X.min()))
    assert_same(fit(variant, X.astype(dtype)), fit(variant, X))


def test_lists_and_frames_give_the_result_of_the_array(variant, X):
    expected = fit(variant, X)
    assert_same(build(variant).fit(X.tolist()), expected)
    frame = pd.DataFrame(X, columns=list("abcd"), index=range(100, 140))
    model = build(variant).fit(frame)
    assert_same(model, expected)
    assert list(model.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(model.transform(frame), model.embedding_)


def test_read_only_data_are_left_alone(variant, X):
    X.flags.writeable = False
    before = X.copy()
    model = fit(variant, X)
    assert_sound(model, X)
    model.transform(X)
    model.inverse_transform(model.embedding_)
    np.testing.assert_array_equal(X, before)


def test_memory_order_does_not_matter(variant, X):
    expected = fit(variant, X)
    assert_same(fit(variant, np.asfortranarray(X)), expected)
    assert_same(fit(variant, np.repeat(X, 2, axis=1)[:, ::2]), expected)
    assert_same(fit(variant, X[:, ::-1].copy()[:, ::-1]), expected)


@pytest.mark.parametrize(
    ("container", "n_features"),
    [(sparse.csr_array, 8), (sparse.csr_array, 60), (sparse.csc_array, 8), (sparse.coo_matrix, 8)],
)
def test_sparse_data_give_the_result_of_the_dense(variant, rng, container, n_features):
    X = np.where(rng.uniform(size=(40, n_features)) < 0.4, rng.normal(size=(40, n_features)), 0.0)
    X[:, 0] = rng.normal(size=40)  # no two rows are equal
    dense, model = fit(variant, X), fit(variant, container(X))
    assert_sound(model, X)
    assert_same(model, dense)
    fresh = 1.1 * X[:7]
    for fitted in (dense, model):
        for new in (fresh, container(fresh)):
            np.testing.assert_allclose(fitted.transform(new), dense.transform(fresh), atol=1e-8)


# Units


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_huge_and_tiny_values(variant, X, unit):
    model = fit(variant, unit * X)
    assert_sound(model, unit * X)
    expected = fit(variant, X)
    assert_same(model, expected, unit=unit, atol=1e-6)
    fresh = X[:5] + 0.1
    np.testing.assert_allclose(
        model.transform(unit * fresh) / unit, expected.transform(fresh), atol=1e-6 * size(expected)
    )
    if not isinstance(model, SPL):
        history = model.objective_history_ / unit / unit
        np.testing.assert_allclose(history, expected.objective_history_, rtol=1e-6)


def test_features_of_very_different_units(variant, X):
    X = X * [1e100, 1.0, 1.0, 1e-100]
    model = fit(variant, X, n_components=1)
    assert_sound(model, X)
    np.testing.assert_allclose(model.components_, [[1, 0, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("n_features", [4, 20])
def test_large_offset(variant, n_features):
    shifted = branching(40, n_features) + 1e8
    X = shifted - 1e8  # exact: what is left of the data beside the offset
    model = fit(variant, shifted)
    assert_sound(model, shifted)
    expected = fit(variant, X)
    assert_same(model, expected, atol=1e-5)
    np.testing.assert_allclose(
        model.transform(shifted[:5] + 0.5),
        expected.transform(X[:5] + 0.5),
        atol=1e-5 * size(expected),
    )


@pytest.mark.parametrize("value", [1e10, 1e100, 1e150])
def test_a_new_sample_far_away_is_placed_far_away(variant, X, value):
    model = fit(variant, X)
    placed = model.transform(value * model.components_)
    assert np.isfinite(placed).all()
    assert (np.diag(placed) > 1e-5 * value).all()


# SPL


def test_disconnected_neighbours_stay_two_parts(X):
    X[20:] += 1000.0
    model = fit("SPL", X)
    assert_sound(model, X)
    is_second = model.edges_ >= 20
    assert (is_second[:, 0] == is_second[:, 1]).all()
    n_parts, part = connected_components(model.graph_, directed=False)
    assert n_parts >= 2
    assert not set(part[:20]) & set(part[20:])
    gap = model.skeleton_[20:, 0].min() - model.skeleton_[:20, 0].max()
    assert gap == pytest.approx(2000, rel=0.01)


@pytest.mark.parametrize("name", ["DRTree", "DDRTree", "DDRTree K=6", "DDRTree hard"])
def test_two_far_clusters_are_joined_by_one_edge(name, X):
    X[20:] += 1000.0
    model = fit(name, X)
    assert_sound(model, X)
    is_second = model.centers_[:, 0] > 0
    assert (is_second[model.labels_] == (np.arange(40) >= 20)).all()
    i, j = np.nonzero(np.triu(model.tree_.toarray()))
    assert (is_second[i] != is_second[j]).sum() == 1


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("C", [1e3, np.inf])
@pytest.mark.parametrize("copies", [1, 2])
def test_spl_constraints_hold_with_and_without_duplicates(X, C, gamma, copies):
    X = np.repeat(X[: 40 // copies], copies, axis=0)
    model = fit("SPL", X, C=C, gamma=gamma)
    assert_sound(model, X)
    assert model.graph_.nnz > 0
    # E‖x_i − x_j‖² ≤ ‖y_i − y_j‖² + ξ_ij, up to 1% of the median of ‖y_i − y_j‖² over neighbours
    # that are not equal: the objective is within 1e-6 of the optimum.
    assert model.edge_violation_ <= 0.01 * (2 / 40 / model.scale_**2)
    assert np.isfinite(model.transform(X + 0.01)).all()


def test_spl_with_gamma_zero_reconstructs_the_skeleton(X):
    model = fit("SPL", X, gamma=0)
    assert_sound(model, X)
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-12)
    back = model.inverse_transform(model.embedding_) - model.mean_
    explained = np.sum((back @ model.components_.T) * model.skeleton_)
    assert explained > 0.3 * np.sum(model.skeleton_**2)


@pytest.mark.parametrize("unit", [100.0, 1e6, 1e10, 1e150])
@pytest.mark.parametrize("C", [1e3, np.inf])
def test_spl_without_scale_warns_that_large_units_give_pca(X, unit, C):
    message = r"No edge is active, so that the embedding is plain PCA.*; set scale='auto'\."
    with pytest.warns(UserWarning, match=message):
        model = fit("SPL", unit * X, scale=None, C=C)
    assert_sound(model, unit * X)
    assert model.graph_.nnz == 0
    assert model.optimality_gap_ == 0
    scores = pca_scores(model, X)
    np.testing.assert_allclose(model.skeleton_ / unit, scores, atol=1e-10)
    axes = np.linalg.svd(X - X.mean(axis=0))[2][:2]
    np.testing.assert_allclose(np.abs(axes @ model.components_.T), np.eye(2), atol=1e-10)


def test_spl_without_scale_in_large_units_still_holds_duplicates_together(X):
    X = 1e6 * np.concatenate([X, X[:1]])
    model = fit("SPL", X, scale=None)
    assert_sound(model, X)
    assert model.graph_.nnz == 2
    assert model.graph_[0, 40] > 0


def test_spl_with_automatic_scale_and_no_active_edge_names_another_remedy(X):
    with pytest.warns(UserWarning, match=r"No edge is active.*with scale='auto'.*; lower gamma\."):
        fit("SPL", X, gamma=1e5)


@pytest.mark.parametrize("solver", ["sparse", "sketch"])
def test_equality_by_a_path_without_dense_matrices_is_refused(X, solver):
    message = f"solver='{solver}' cannot find the negative.*loss='equality'.*; set solver='auto'"
    with pytest.raises(ValueError, match=message):
        fit("SPL", X, loss="equality", solver=solver)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 10.0])
def test_distances_that_no_posterior_keeps_are_refused_and_nothing_is_lost(X, gamma):
    model = fit("SPL", X, loss="equality", n_neighbors=2, gamma=gamma)
    fresh = X + 0.01
    before = model.transform(fresh)
    message = (
        r"No posterior keeps the distances along all \d+ edges between 40 samples, as "
        r"loss='equality' asks.*; lower n_neighbors.*, or set loss='hard' or 'squared'\."
    )
    with pytest.raises(ValueError, match=message):
        model.set_params(n_neighbors=8).fit(X * [1, 1, 0, 0])
    np.testing.assert_array_equal(model.set_params(n_neighbors=2).transform(fresh), before)


def test_equality_without_scale_in_large_units_is_refused(X):
    message = r"longest distance between neighbours is .* times.*loss='equality'.*scale='auto'"
    with pytest.raises(ValueError, match=message):
        fit("SPL", 1e6 * X, loss="equality", n_neighbors=2, scale=None)


@pytest.mark.parametrize("gamma", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3, 1e300])
def test_absolute_loss_converges_with_duplicates_at_any_price(X, C, gamma):
    X = np.repeat(X[:20], 2, axis=0)
    model = fit("SPL", X, loss="absolute", C=C, gamma=gamma)
    assert_sound(model, X)
    assert model.graph_.data.max() <= C
    assert model.n_iter_ < 150
    assert np.isfinite(model.transform(X + 0.01)).all()


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_equality_holds_with_and_without_duplicates(X, copies):
    X = np.repeat(X[: 40 // copies], copies, axis=0)
    model = fit("SPL", X, loss="equality", n_neighbors=3, tol=1e-10)
    assert model.converged_
    assert model.edge_violation_ <= 1e-4 * (2 / 40 / model.scale_**2)


def test_spl_takes_a_graph_of_any_sparse_format(X):
    chain = sparse.diags_array([np.ones(39)], offsets=[1])
    expected = SPL().fit(X, neighbors=chain)
    assert_sound(expected, X)
    np.testing.assert_array_equal(expected.edges_, np.column_stack([range(39), range(1, 40)]))
    for format_ in ("csr", "csc", "coo", "lil", "dok", "bsr"):
        model = SPL().fit(X, neighbors=chain.astype(bool).asformat(format_))
        assert_same(model, expected, atol=0)


# Trees


def test_one_centre_gives_pca_drawn_in(X):
    model = DDRTree(2, n_centers=1, gamma=4.0).fit(X)
    assert_sound(model, X)
    assert model.tree_.nnz == 0
    assert (model.labels_ == 0).all()
    np.testing.assert_allclose(model.centers_, 0, atol=1e-12)
    np.testing.assert_allclose(model.embedding_, pca_scores(model, X) / 5, atol=1e-10)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_two_centres(X, assignment):
    model = DDRTree(2, n_centers=2, assignment=assignment, random_state=0).fit(X)
    assert_sound(model, X)
    np.testing.assert_array_equal(model.tree_.toarray(), [[0, 1], [1, 0]])
    assert set(model.labels_) == {0, 1}


def test_as_many_centres_as_samples_is_one_per_sample(X):
    number, none = DDRTree(2, n_centers=40).fit(X), DDRTree(2, n_centers=None).fit(X)
    assert_sound(number, X)
    np.testing.assert_array_equal(number.embedding_, none.embedding_)
    np.testing.assert_array_equal(number.tree_.toarray(), none.tree_.toarray())


def test_more_starting_centres_than_samples(X, rng):
    model = DDRTree(init=rng.normal(size=(60, 2))).fit(X)
    assert_sound(model, X)
    assert model.centers_.shape == (60, 2)


@pytest.mark.parametrize("init", [np.zeros((5, 2)), [[0, 0], [1, 0]], np.float32([[0, 1]])])
def test_init_of_equal_centres_lists_and_single_precision(X, init):
    model = DDRTree(2, init=init).fit(X)
    assert_sound(model, X)
    assert len(model.centers_) == len(init)


def test_without_weight_of_the_tree_drtree_is_pca(X):
    model = DRTree(lam=0).fit(X)
    assert_sound(model, X)
    np.testing.assert_allclose(model.embedding_, pca_scores(model, X), atol=1e-10)


def test_without_weight_of_the_tree_and_own_centres_ddrtree_is_pca(X):
    model = DDRTree(2, lam=0, n_centers=None, assignment="hard").fit(X)
    assert_sound(model, X)
    np.testing.assert_allclose(model.embedding_, pca_scores(model, X), atol=1e-10)
    np.testing.assert_allclose(model.centers_, model.embedding_, atol=1e-10)


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_without_weight_of_the_tree_centres_are_means(X, assignment):
    model = DDRTree(2, lam=0, n_centers=6, assignment=assignment, random_state=0, tol=1e-12).fit(X)
    assert_sound(model, X)
    R = model.assignments_.toarray()
    means = R.T @ model.embedding_ / R.sum(axis=0)[:, np.newaxis]
    np.testing.assert_allclose(model.centers_, means, atol=1e-4)
