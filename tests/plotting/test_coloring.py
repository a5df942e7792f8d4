import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb, to_rgba

from branchwise.plotting.coloring import (
    BRANCH_COLORS,
    MISSING,
    MORE_COLORS,
    OTHER,
    PALETTE,
    category_colors,
    resolve_color,
)

# What people without cones for long, middle and short waves see (Machado et al. 2009, Table 1).
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def lab(colors, vision):
    """CIE Lab of colours as somebody sees them."""
    rgb = np.array([to_rgb(color) for color in colors])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.transpose(VISIONS[vision]), 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = (seen @ np.transpose(to_xyz) / [0.9505, 1.0, 1.089]).T
    f = [np.where(v > 216 / 24389, np.cbrt(v), (24389 / 27 * v + 16) / 116) for v in (x, y, z)]
    return np.column_stack([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("vision", sorted(VISIONS))
def test_colour_blind_readers_can_tell_all_categories_apart(vision):
    places = lab([*PALETTE, *MORE_COLORS, "white"], vision)
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert distances[:8, :8].min() > 16
    assert distances[8:].min() > 20


@pytest.mark.parametrize("vision", sorted(VISIONS))
def test_colour_blind_readers_can_tell_all_branches_apart(vision):
    places = lab([*BRANCH_COLORS, "white", MISSING, OTHER, "black"], vision)
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert distances[:4, :4].min() > 33
    assert distances[:8, :8].min() > 17.2
    assert distances[:8, 16:].min() > 16.9
    assert distances[:16].min() > 12.4


@pytest.mark.parametrize("vision", sorted(VISIONS))
def test_colour_blind_readers_never_take_a_branch_for_a_category(vision):
    of_branches = lab(BRANCH_COLORS, vision)
    of_categories = lab([*PALETTE, *MORE_COLORS], vision)
    distances = np.linalg.norm(of_branches[:, None] - of_categories, axis=2)
    assert distances[:8, :8].min() > 16.9
    assert distances[:8, 8:].min() > 12.7
    assert distances[8:].min() > 12.4


def test_branches_have_markers_as_categories():
    coloring = resolve_color([f"T{k:02}" for k in range(10)], 10, colors=BRANCH_COLORS)
    assert [tuple(color) for color in coloring.colors] == [to_rgba(c) for c in BRANCH_COLORS[:10]]
    assert coloring.markers == ("o",) * 8 + ("^",) * 2


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        pytest.param([1, 1, 2], "number", id="few integers"),
        pytest.param([True, False, True], "category", id="booleans"),
        pytest.param(["a", "b", "b"], "category", id="text"),
        pytest.param(np.array([1, None, 2.5], dtype=object), "number", id="objects"),
        pytest.param(np.array([1, "b", None], dtype=object), "category", id="mixture"),
        pytest.param(pd.Series([1, None, 3], dtype="Int64"), "number", id="nullable integers"),
        pytest.param(pd.Series([True, None, False], dtype="boolean"), "category", id="nullable"),
        pytest.param(pd.Categorical([1, 2, None]), "category", id="categorical of integers"),
        pytest.param(pl.Series(["a", None, "b"]), "category", id="polars"),
        pytest.param(pl.Series([1.5, None, 2.0]), "number", id="polars numbers"),
        pytest.param(None, "none", id="nothing"),
        pytest.param("red", "none", id="one colour"),
    ],
)
def test_the_type_of_the_values_decides(values, kind):
    assert resolve_color(values, 3).kind == kind


@pytest.mark.parametrize("missing", [[], [None], [np.nan]], ids=["none", "None", "NaN"])
def test_integers_are_categories_if_asked(missing):
    coloring = resolve_color([10, 2, 2, *missing], 3 + len(missing), kind="category")
    assert coloring.labels == ("2", "10")
    assert coloring.counts.tolist() == [2, 1]


def test_a_categorical_keeps_its_order_and_its_unused_categories_their_colours():
    grade = pd.Series(pd.Categorical(["low", "high", None], ["low", "mid", "high"]), name="grade")
    coloring = resolve_color(grade, 3)
    assert coloring.labels == ("low", "mid", "high")
    assert coloring.name == "grade"
    assert coloring.values.tolist() == [0, 2, -1]
    assert tuple(coloring.rgba()[1]) == to_rgba(PALETTE[2])


def test_a_categorical_of_integers_may_have_missing_values():
    coloring = resolve_color(pd.Categorical([2, None, 1], [2, 1]), 3)
    assert (coloring.labels, coloring.values.tolist()) == (("2", "1"), [0, -1, 1])


def test_an_enumeration_of_polars_keeps_its_order():
    stage = pl.Series(["late", "early"], dtype=pl.Enum(["early", "late"]))
    assert resolve_color(stage, 2).labels == ("early", "late")


def test_missing_values_are_grey():
    for values in ([1.0, np.nan, 3.0], ["a", None, "b"], np.array([2, np.nan, "x"], dtype=object)):
        coloring = resolve_color(values, 3)
        assert coloring.is_missing.tolist() == [False, True, False]
        assert tuple(coloring.rgba()[1]) == to_rgba(MISSING)


def test_only_missing_values_are_no_error():
    assert resolve_color([np.nan, np.nan], 2).is_missing.all()
    assert resolve_color([None, None], 2).labels == ()
    assert resolve_color([None, None], 2).rgba().shape == (2, 4)


def test_a_constant_has_one_colour_and_infinite_values_those_of_the_ends():
    assert len(np.unique(resolve_color([5, 5, 5], 3).rgba(), axis=0)) == 1
    rgba = resolve_color([-np.inf, 0.0, 1.0, np.inf], 4).rgba()
    np.testing.assert_array_equal(rgba[[0, 3]], rgba[[1, 2]])


def test_a_diverging_scale_has_its_centre_in_the_middle():
    coloring = resolve_color([-1.0, 3.0], 2, center=0.0)
    assert coloring.norm([-3.0, 0.0, 3.0]).tolist() == [0.0, 0.5, 1.0]
    assert coloring.cmap.name == "RdBu_r"


def test_the_ninth_category_has_a_colour_and_a_marker_of_its_own():
    coloring = resolve_color([f"type {k}" for k in range(12)], 12)
    assert len(np.unique(coloring.colors, axis=0)) == 12
    assert coloring.markers == ("o",) * 8 + ("^",) * 4


def test_the_smallest_of_too_many_categories_share_one():
    values = [f"type {k}" for k in range(20) for _ in range(k + 1)]
    coloring = resolve_color(values, len(values))
    assert coloring.labels == (*(f"type {k}" for k in range(5, 20)), "other: 5 categories")
    assert coloring.counts.tolist() == [*range(6, 21), 15]
    assert tuple(coloring.colors[-1]) == to_rgba(OTHER)


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 30), st.floats(), st.text(), st.booleans())),
    st.sampled_from([None, "category"]),
)
def test_any_values_get_colours(values, kind):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    coloring = resolve_color(column, len(values), kind=kind)
    rgba = coloring.rgba()
    assert rgba.shape == (len(values), 4)
    assert np.all((rgba >= 0) & (rgba <= 1))
    if coloring.kind == "category":
        assert coloring.counts.sum() + coloring.is_missing.sum() == len(values)
        assert len(coloring.labels) <= 16


def test_given_colours_are_used():
    by_name = resolve_color(["a", "b"], 2, palette={"b": "red", "a": "blue"})
    in_order = resolve_color(["a", "b"], 2, palette=["blue", "red", "green"])
    np.testing.assert_array_equal(by_name.colors, in_order.colors)
    assert tuple(by_name.colors[0]) == to_rgba("blue")


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        pytest.param([1, 2], {}, r"color has shape \(2,\) but there are 3 points", id="length"),
        pytest.param("reed", {}, "color='reed' is not a colour; pass one value", id="colour"),
        pytest.param([[1], [1, 2], []], {}, "must hold one value for each point", id="ragged"),
        pytest.param(list("abc"), {"kind": "number"}, "not numbers; leave kind", id="text"),
        pytest.param(list("abc"), {"kind": "hue"}, "kind='hue' must be 'category'", id="kind"),
        pytest.param([1, 2, 3], {"cmap": "x"}, "cmap='x' is not a colour map", id="cmap"),
        pytest.param(list("abc"), {"palette": ["r"]}, "1 colours but there are 3", id="few"),
        pytest.param(list("abc"), {"palette": {"a": "r"}}, "no colour for 'b'", id="absent"),
        pytest.param(list("abc"), {"palette": ["r", "x", "g"]}, "palette has 'x'", id="wrong"),
    ],
)
def test_bad_colours_are_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        resolve_color(values, 3, **options)


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(np.array(["2020-01-01"], dtype="datetime64[D]"), id="dates"),
        pytest.param(np.array([1j]), id="complex"),
    ],
)
def test_values_without_colours_are_refused(values):
    with pytest.raises(TypeError, match=r"have no colours; pass real numbers"):
        resolve_color(values, 1)


def test_there_are_as_many_colours_as_asked_for():
    assert [len(set(category_colors(n))) for n in (0, 8, 16, 30)] == [0, 8, 16, 17]
