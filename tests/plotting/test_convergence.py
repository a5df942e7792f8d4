import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from branchwise import SPL, DDRTree, DRTree
from branchwise.plotting import plot_convergence

X = np.random.default_rng(0).normal(size=(80, 4)) * [4, 2, 1, 1]


@pytest.fixture(scope="module")
def fits():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        stopped = DDRTree(2, max_iter=4, random_state=0).fit(X)
    return {"SPL": SPL().fit(X), "done": DDRTree(2, random_state=0).fit(X), "stopped": stopped}


def labels(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_gap_to_the_last_value_is_drawn(fits):
    model = fits["done"]
    ax = plot_convergence(model)
    x, y = ax.lines[0].get_data()
    history = model.objective_history_
    np.testing.assert_array_equal(x, 1 + np.arange(len(y)))
    np.testing.assert_allclose(y, np.abs(history - history[-1])[: len(y)])
    assert len(y) < len(history)  # the last is at no distance from itself
    assert ax.get_yscale() == "log"
    assert ax.get_ylabel() == "distance of the objective from its last value"


def test_the_gap_of_spl_is_to_its_proven_bound(fits):
    model = fits["SPL"]
    ax = plot_convergence(model)
    x, y = ax.lines[0].get_data()
    assert (x[0], x[-1]) == (0, model.n_iter_)
    assert y[-1] == pytest.approx(model.optimality_gap_, rel=1e-3)
    assert ax.get_ylabel().endswith("from its proven bound")


def test_the_values_can_be_drawn(fits):
    ax = plot_convergence(fits["SPL"], scale="objective")
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), fits["SPL"].objective_history_)
    assert ax.get_yscale() == "linear"


def test_a_fit_of_one_iteration_is_drawn_by_its_value():
    with pytest.warns(ConvergenceWarning):
        model = DRTree(max_iter=1).fit(X)
    ax = plot_convergence(model)
    assert ax.get_ylabel() == "objective"
    assert labels(ax) == ["DRTree: stopped after 1 iteration"]


def test_the_picture_says_how_fits_ended(fits):
    ax = plot_convergence({**fits, "_$x": fits["done"]})
    n_iter = {name: model.n_iter_ for name, model in fits.items()}
    assert labels(ax) == [
        f"SPL: converged after {n_iter['SPL']} iterations",
        f"done: converged after {n_iter['done']} iterations",
        "stopped: stopped after 4 iterations",
        f"_\\$x: converged after {n_iter['done']} iterations",
    ]
    assert [line.get_marker() for line in ax.lines] == ["o", "o", "X", "o"]
    assert len({line.get_color() for line in ax.lines}) == 4


def test_models_of_a_kind_are_numbered(fits):
    ax = plot_convergence([fits["done"], fits["SPL"], fits["stopped"]])
    assert [label.split(":")[0] for label in labels(ax)] == ["DDRTree 1", "SPL", "DDRTree 2"]


@pytest.mark.parametrize(
    ("models", "options", "error", "message"),
    [
        pytest.param([], {}, ValueError, "models is empty", id="none"),
        pytest.param(DDRTree(2), {}, ValueError, "not fitted", id="not fitted"),
        pytest.param(LinearRegression(), {}, TypeError, "SPL, DRTree or DDRTree", id="other"),
    ],
)
def test_bad_models_are_refused(models, options, error, message):
    with pytest.raises(error, match=message):
        plot_convergence(models, **options)


def test_other_scales_are_refused(fits):
    with pytest.raises(ValueError, match="scale='log' must be 'auto', 'gap' or 'objective'"):
        plot_convergence(fits, scale="log")


def test_convergence_looks_as_it_did(same_picture):
    # Made-up histories: those of fits differ by rounding.
    slow, fast = DDRTree(2), DDRTree(2)
    slow.objective_history_, slow.n_iter_, slow.converged_ = 5 + 0.6 ** np.arange(20), 20, False
    fast.objective_history_, fast.n_iter_, fast.converged_ = 5 + 0.3 ** np.arange(9), 9, True
    for model in (slow, fast):
        model.embedding_ = np.zeros((2, 2))
    ax = plt.figure(figsize=(4, 3)).subplots()
    same_picture(plot_convergence([slow, fast], ax=ax), "convergence")
