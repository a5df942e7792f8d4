import io

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from branchwise.plotting import plot_embedding, points
from branchwise.plotting.coloring import MISSING, PALETTE, resolve_color
from branchwise.plotting.points import binned_image, draw_points


@pytest.mark.parametrize(("n_points", "is_raster"), [(5000, False), (5001, True)])
def test_many_points_are_rasterised(rng, n_points, is_raster):
    ax = plot_embedding(rng.normal(size=(n_points, 2)))
    assert bool(ax.collections[0].get_rasterized()) == is_raster


def test_a_million_points_make_a_small_file(rng):
    values = rng.normal(size=(1_000_000, 2))
    ax = plot_embedding(values, color=values[:, 0])
    assert not ax.collections
    for extension in ("svg", "pdf"):
        file = io.BytesIO()
        ax.figure.savefig(file, format=extension)
        assert len(file.getvalue()) < 500_000


def test_every_point_is_in_the_binned_picture(rng, monkeypatch):
    monkeypatch.setattr(points, "LEAST_BINNED_POINTS", 100)
    places = rng.normal(size=(100, 2))
    image = plot_embedding(places).images[0]
    x0, x1, y0, y1 = image.get_extent()
    assert np.all((places >= [x0, y0]) & (places <= [x1, y1]))
    height, width = image.get_array().shape[:2]
    assert (x1 - x0) / width == pytest.approx((y1 - y0) / height)  # pixels are squares
    column, row = ((places - [x0, y0]) / ((x1 - x0) / width)).astype(int).T
    seen = np.zeros((height, width), dtype=bool)
    seen[row, column] = True
    np.testing.assert_array_equal(image.get_array()[..., 3] > 0, seen)


def test_a_pixel_shows_the_mean_of_numbers():
    coloring = resolve_color([0.0, 1.0, 1.0, np.inf, np.nan, np.nan], 6)
    image = binned_image(np.array([0, 0, 1, 1, 1, 2]), 4, coloring)
    np.testing.assert_array_equal(image[0], coloring.cmap(0.5))
    np.testing.assert_array_equal(image[1], coloring.cmap(1.0))
    np.testing.assert_array_equal(image[2], to_rgba(MISSING))
    assert image[3, 3] == 0


def test_a_pixel_shows_the_most_frequent_category():
    coloring = resolve_color(["a", "a", "b", "b", None, None], 6)
    image = binned_image(np.array([0, 0, 0, 1, 1, 1]), 2, coloring)
    np.testing.assert_array_equal(image[:, :3], [to_rgba(color)[:3] for color in PALETTE[:2]])


def test_a_pixel_is_the_more_opaque_the_more_points_it_has():
    pixel = np.repeat(np.arange(5), [0, 1, 3, 9, 9])
    alpha = binned_image(pixel, 5, resolve_color(None, len(pixel)))[:, 3]
    assert alpha[0] == 0
    assert np.all(np.diff(alpha[:4]) > 0)
    assert alpha[3:].tolist() == [1, 1]


@pytest.mark.parametrize("n_columns", [1, 2])
def test_equal_points_can_be_binned(monkeypatch, n_columns):
    monkeypatch.setattr(points, "LEAST_BINNED_POINTS", 10)
    places = np.zeros((10, 2))
    places[:, n_columns:] = np.arange(10)[:, np.newaxis]
    plot_embedding(places, color=["a"] * 10).figure.draw_without_rendering()


def test_a_cube_shows_some_of_many_points(rng, monkeypatch):
    monkeypatch.setattr(points, "MOST_3D_POINTS", 20)
    ax = plot_embedding(rng.normal(size=(50, 3)), dims=3)
    assert ax.get_title(loc="left") == "20 of 50 samples drawn"


def test_points_are_smaller_the_more_there_are_and_in_smaller_axes():
    figure = plt.figure()
    large, small = figure.subplots(), figure.add_axes((0.8, 0.8, 0.1, 0.1))
    assert points.point_size(large, 200) > points.point_size(large, 2000)
    assert points.point_size(large, 2000) > points.point_size(small, 2000)


def test_no_category_is_drawn_last_as_a_whole(rng):
    ax = plt.figure().subplots()
    draw_points(ax, rng.normal(size=(200, 2)), resolve_color(["a"] * 100 + ["b"] * 100, 200))
    colors = ax.collections[0].get_facecolors()[:, 0]
    assert len(np.unique(colors[:100])) == len(np.unique(colors[100:])) == 2


@pytest.mark.parametrize("kind", ["category", "number"])
def test_a_binned_picture_looks_as_it_did(rng, monkeypatch, same_picture, kind):
    monkeypatch.setattr(points, "LEAST_BINNED_POINTS", 10_000)
    monkeypatch.setattr(points, "BINS_PER_INCH", 30)
    places = rng.uniform(-2, 2, size=(400_000, 2))
    values = np.hypot(*places.T)
    # Whole pixels, and no rims of the image: releases of matplotlib differ in how they round.
    ax = plt.figure(figsize=(3, 3)).add_axes((0.1, 0.1, 0.8, 0.8))
    color = values if kind == "number" else np.where(values > 1, "outer", "inner")
    plot_embedding(places, color=color, legend="none", ax=ax)
    ax.set(xlim=(-1.8, 1.8), ylim=(-1.8, 1.8))
    same_picture(ax, f"binned_{kind}")
