"""What a person in a notebook expects: tables stay tables, models show themselves, else silence."""

import logging
import warnings
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from branchwise import SPL, DDRTree, DRTree, Preparation
from branchwise.trajectory import Trajectory, learn_trajectory

from ..conftest import branching

ESTIMATORS = {
    "SPL": SPL(n_neighbors=5),
    "DRTree": DRTree(),
    "DDRTree": DDRTree(2, n_centers=10, random_state=0),
    "Preparation": Preparation(standardize=True),
    "Preparation with pca": Preparation(standardize=True, pca=2),
}
HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


@pytest.fixture
def frame():
    names = pd.Index([f"patient {k}" for k in range(40)], name="patient")
    return pd.DataFrame(branching(40, 4), columns=["crp", "ldl", "hb", "il-6"], index=names)


# Tables


def test_pandas_in_pandas_out_with_the_index(estimator, frame):
    estimator.set_output(transform="pandas")
    learned = estimator.fit_transform(frame)
    placed = estimator.transform(frame[::-2])
    for table, index in ((learned, frame.index), (placed, frame.index[::-2])):
        assert isinstance(table, pd.DataFrame)
        pd.testing.assert_index_equal(table.index, index)
        assert list(table.columns) == list(estimator.get_feature_names_out())
    np.testing.assert_array_equal(placed, learned[::-2])


def test_indices_of_several_levels_are_kept(estimator, frame):
    frame.index = pd.MultiIndex.from_product([["a", "b"], range(20)], names=["site", "visit"])
    learned = estimator.set_output(transform="pandas").fit_transform(frame)
    pd.testing.assert_index_equal(learned.index, frame.index)


def test_polars_in_polars_out(estimator, frame):
    table = pl.from_pandas(frame)
    learned = estimator.set_output(transform="polars").fit_transform(table)
    assert isinstance(learned, pl.DataFrame)
    assert learned.columns == list(estimator.get_feature_names_out())
    placed = estimator.transform(table[5:9])
    np.testing.assert_array_equal(placed.to_numpy(), learned[5:9].to_numpy())
    assert list(estimator.feature_names_in_) == table.columns


def test_tables_of_either_kind_give_what_arrays_give(estimator, frame):
    expected = clone(estimator).fit_transform(frame.to_numpy())
    for table in (frame, pl.from_pandas(frame)):
        found = clone(estimator).fit_transform(table)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_numbers_as_names_of_columns_are_no_names(estimator, frame):
    numbered = frame.set_axis(range(4), axis=1)
    learned = estimator.set_output(transform="pandas").fit_transform(numbered)
    assert not hasattr(estimator, "feature_names_in_")
    pd.testing.assert_index_equal(learned.index, frame.index)
    assert all(isinstance(name, str) for name in learned.columns)
    # Neither in fit nor now: nothing to warn of.
    np.testing.assert_array_equal(estimator.transform(numbered.to_numpy()), learned)


def test_numbers_and_text_as_names_of_columns_are_refused_with_a_remedy(estimator, frame):
    mixed = frame.set_axis(["crp", 1, 2, 3], axis=1)
    with pytest.raises(TypeError, match=r"X\.columns = X\.columns\.astype\(str\)"):
        estimator.fit(mixed)
    estimator.fit(mixed.set_axis(mixed.columns.astype(str), axis=1))


def test_nullable_and_whole_numbers_are_numbers(estimator, frame):
    table = (100 * frame).round().astype("Int64")
    expected = clone(estimator).fit_transform(table.astype(float))
    np.testing.assert_array_equal(estimator.fit_transform(table), expected)


@pytest.mark.parametrize("name", ["SPL", "DRTree", "DDRTree"])
def test_places_on_a_trajectory_keep_the_index(name, frame):
    model = clone(ESTIMATORS[name]).set_output(transform="pandas").fit(frame)
    found = Trajectory.from_estimator(model, names=frame.index)
    for places in (found.place(frame[3:9]), found.project(model.transform(frame[3:9]))):
        pd.testing.assert_index_equal(places.index, frame.index[3:9])
    assert found.place(pl.from_pandas(frame[3:9])).index.tolist() == list(range(6))


# Representations


class Text(HTMLParser):
    """The text of a page, without scripts and styles; and its tags with their attributes."""

    def __init__(self, page):
        super().__init__()
        self.hidden, self.words, self.tags = 0, [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("style", "script")
        self.tags.append((tag, attributes))

    def handle_endtag(self, tag):
        self.hidden -= tag in ("style", "script")

    def handle_data(self, data):
        if not self.hidden:
            self.words.append(data)


def test_models_show_their_parameters(estimator, frame):
    for model in (estimator, clone(estimator).fit(frame)):
        shown = " ".join(Text(model._repr_html_()).words)
        assert type(model).__name__ in shown
        for name, value in model.get_params().items():
            # Older releases of scikit-learn show what differs from the defaults.
            is_default = value == type(model)().get_params()[name]
            assert name in shown or is_default


def test_fitted_models_look_fitted(estimator, frame):
    assert "Not fitted" in estimator._repr_html_()
    assert "Not fitted" not in estimator.fit(frame)._repr_html_()


@pytest.mark.parametrize(
    "model",
    [
        SPL(loss=HOSTILE),
        DRTree(lam=HOSTILE),
        DDRTree(2, n_centers=HOSTILE, kernel_params={HOSTILE: HOSTILE}),
        Preparation(adjust=[HOSTILE], impute=HOSTILE),
    ],
    ids=lambda model: type(model).__name__,
)
def test_parameters_are_escaped(model):
    page = model._repr_html_()
    assert HOSTILE not in page
    assert 'alert("x")' not in page
    assert "alert" in " ".join(Text(page).words)


def test_names_of_columns_are_escaped(estimator, frame):
    frame.columns = [HOSTILE, '"><img src=x onerror=alert(1)>', "<b>", "&amp;"]
    page = estimator.fit(frame)._repr_html_()
    assert HOSTILE not in page
    assert "img" not in {tag for tag, _ in Text(page).tags}
    attributes = [name for _, given in Text(page).tags for name, _ in given]
    assert "onerror" not in attributes


# Silence


@pytest.fixture
def silence(capfd):
    """Nothing on standard output or error, no warning, and no handler of logs, old or new."""
    handlers = list(logging.getLogger().handlers)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
    assert capfd.readouterr() == ("", "")
    assert logging.getLogger().handlers == handlers
    for name, logger in logging.root.manager.loggerDict.items():
        if name.split(".")[0] == "branchwise":
            assert not getattr(logger, "handlers", [])


@pytest.mark.usefixtures("silence")
def test_estimators_print_nothing(estimator, frame):
    estimator.fit(frame)
    estimator.fit_transform(frame)
    estimator.transform(frame)
    estimator.get_feature_names_out()


@pytest.mark.usefixtures("silence")
def test_trajectories_print_nothing(frame):
    found = learn_trajectory(frame, support=0)
    found.rooted(sample="patient 3").prune()
    found.place(frame)
    found.support(frame, n_resamples=2, random_state=0)


def test_progress_is_shown_when_asked_for(frame, capfd):
    DDRTree(2, n_centers=10, random_state=0, verbose=1).fit(frame)
    assert "DDRTree converged" in capfd.readouterr().err
