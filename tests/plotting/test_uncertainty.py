import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import EllipseCollection
from scipy import stats

from branchwise import SPL, DDRTree
from branchwise.plotting import plot_embedding, plot_uncertainty
from branchwise.plotting.uncertainty import ellipses
from branchwise.trajectory import Trajectory
from branchwise.trajectory.bootstrap import Support

# From the embedding of the model, the posterior mean, to its skeleton, in units of the data.
SHRUNK = 21 / 20


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    time = rng.uniform(size=(120, 1))
    return SPL(gamma=20.0).fit(time * [3.0, 1, 0] + 0.1 * rng.normal(size=(120, 3)))


def regions(ax):
    """Centres and full axes of the ellipses."""
    found = next(c for c in ax.collections if isinstance(c, EllipseCollection))
    # Half of what was given; there are public names for it since matplotlib 3.9 only.
    return found.get_offsets(), 2 * np.column_stack([found._widths, found._heights])


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_circles_hold_samples_of_the_posterior_as_often_as_they_say(model, level):
    centers, widths = regions(plot_uncertainty(model, level=level, samples=np.arange(120)))
    draws = model.sample_posterior(400, random_state=0) * SHRUNK
    inside = ((draws - centers) ** 2).sum(axis=2) <= (widths[:, 0] / 2) ** 2
    np.testing.assert_array_equal(widths[:, 0], widths[:, 1])
    assert abs(inside.mean() - level) < 0.02


@pytest.mark.parametrize("n_draws", [5, 50])
def test_ellipses_hold_another_draw_as_often_as_they_say(rng, n_draws):
    shape = np.array([[2.0, 0.0], [1.5, 0.5]])
    draws = rng.normal(size=(n_draws + 1, 4000, 2)) @ shape
    centers, widths, angles = ellipses(draws[:-1], 0.9)
    turn = np.radians(angles)
    along = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    across = np.stack([-np.sin(turn), np.cos(turn)], axis=1)
    apart = draws[-1] - centers
    along, across = (apart * along).sum(axis=1), (apart * across).sum(axis=1)
    inside = (2 * along / widths[:, 0]) ** 2 + (2 * across / widths[:, 1]) ** 2 <= 1
    assert abs(inside.mean() - 0.9) < 0.015


def test_draws_of_the_posterior_give_the_circles_again(model):
    circles = regions(plot_uncertainty(model))
    drawn = regions(plot_uncertainty(model, draws=model.sample_posterior(2000, random_state=0)))
    np.testing.assert_allclose(drawn[1], circles[1], rtol=0.15)
    np.testing.assert_allclose(drawn[0], circles[0], atol=0.1)


def test_the_picture_says_what_the_regions_are(model):
    ax = plot_uncertainty(model, max_samples=30, level=0.9)
    assert ax.get_title(loc="left") == "90 % regions of 30 of 120 samples"
    assert len(regions(ax)[0]) == 30
    every = plot_uncertainty(model, max_samples=120)
    assert every.get_title(loc="left") == "95 % regions of 120 samples"


def test_the_whole_of_every_region_is_in_the_picture(model):
    ax = plot_uncertainty(model)
    centers, widths = regions(ax)
    ax.figure.draw_without_rendering()
    low, high = np.array([ax.get_xlim(), ax.get_ylim()]).T
    assert np.all(centers - widths / 2 >= low)
    assert np.all(centers + widths / 2 <= high)


def test_regions_can_be_added_to_an_embedding(model):
    ax = plot_embedding(model)
    n_before = len(ax.collections)
    assert plot_uncertainty(model, ax=ax) is ax
    assert len(ax.collections) == n_before + 1


def test_a_trajectory_has_the_regions_of_its_model(model):
    path = Trajectory.from_estimator(model)
    own, other = regions(plot_uncertainty(path)), regions(plot_uncertainty(model))
    np.testing.assert_array_equal(own[0], other[0])
    np.testing.assert_array_equal(own[1], other[1])


@pytest.mark.parametrize(
    "samples", [[3, 5], np.isin(np.arange(120), [3, 5])], ids=["rows", "truth values"]
)
def test_some_samples_can_be_chosen(model, samples):
    centers = regions(plot_uncertainty(model, samples=samples))[0]
    np.testing.assert_array_equal(centers, model.skeleton_[[3, 5]])


@pytest.fixture
def found():
    """A made-up support with intervals of 80 %."""
    time, std = np.array([2.0, 0.0, 1.0]), np.array([0.3, 0.1, 0.2])
    reach = stats.norm.ppf(0.9) * std
    table = pd.DataFrame(
        {"pseudotime": time, "std": std, "lower": time - reach, "upper": time + reach}
    )
    return Support(None, None, table, None, "bootstrap", 10, 0, (), 0)


def test_intervals_of_pseudotime_are_drawn_in_order(found):
    ax = plot_uncertainty(found)
    assert ax.get_title(loc="left") == "80 % intervals of 3 samples"
    segments = np.array(ax.collections[0].get_segments())
    sorted_table = found.pseudotime_.sort_values("pseudotime")
    np.testing.assert_array_equal(segments[:, 0, 0], [1, 2, 3])
    np.testing.assert_allclose(segments[:, :, 1], sorted_table[["lower", "upper"]])


def test_intervals_that_are_not_known_are_left_out(found):
    found.pseudotime_.loc[:, ["std", "lower", "upper"]] = np.nan
    ax = plot_uncertainty(found)
    assert ax.get_title(loc="left") == "No intervals of 3 samples"
    ax.figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"level": 1.0}, "level=1.0 must be above 0 and below 1", id="level"),
        pytest.param({"max_samples": 0}, "max_samples=0 must be a positive int", id="none"),
        pytest.param({"max_samples": "all"}, "max_samples='all' must be a positive", id="text"),
        pytest.param({"samples": [120]}, "row numbers from 0 to 119", id="row"),
        pytest.param({"samples": []}, "at least one", id="empty"),
        pytest.param({"draws": np.zeros((2, 120, 2))}, "at least 3 draws", id="few draws"),
        pytest.param({"draws": np.zeros((5, 9, 2))}, r"\(n_draws, 120, 2\)", id="shape"),
        pytest.param({"draws": np.full((5, 120, 2), np.nan)}, "not finite; leave out", id="NaN"),
    ],
)
def test_bad_requests_are_refused(model, options, message):
    with pytest.raises(ValueError, match=message):
        plot_uncertainty(model, **options)
    assert not plt.get_fignums()


def test_what_has_no_posterior_is_refused(model, found):
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match="DDRTree has no posterior; pass draws"):
        plot_uncertainty(DDRTree(2, random_state=0).fit(X))
    with pytest.raises(ValueError, match="gamma=0 leaves the posterior mean at zero"):
        plot_uncertainty(SPL(gamma=0.0).fit(X))
    with pytest.raises(ValueError, match="a Support has its own intervals"):
        plot_uncertainty(found, draws=np.zeros((3, 3, 2)))


def test_regions_look_as_they_did(same_picture):
    nodes = np.column_stack([np.arange(6.0), np.zeros(6)])
    path = Trajectory([[k, k + 1] for k in range(5)], nodes)
    turns = np.radians(np.arange(8) * 45)
    around = np.stack([np.cos(turns), 0.3 * np.sin(turns)], axis=1)[:, np.newaxis]
    draws = nodes + around * np.linspace(0.1, 0.6, 6)[:, np.newaxis]
    ax = plot_embedding(path, ax=plt.figure(figsize=(4, 3)).subplots())
    same_picture(plot_uncertainty(path, draws=draws, ax=ax), "uncertainty")
