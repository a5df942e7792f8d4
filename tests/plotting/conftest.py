"""Pictures in tests: closed after each test, and compared with stored ones.

To store new pictures after a change that is meant, run

    BRANCHWISE_WRITE_BASELINES=1 python -m pytest tests/plotting

and look at each file in tests/plotting/baseline that git calls changed.
"""

import os
import shutil
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest
from matplotlib.testing.compare import compare_images
from matplotlib.text import Text

mpl.use("agg")

BASELINE = Path(__file__).parent / "baseline"
WRITE = "BRANCHWISE_WRITE_BASELINES"
# Root mean square of the differences, of 255. From matplotlib 3.8 to 3.11 shapes are the same
# pixel by pixel and images differ by up to 0.4; another colour of one category in twelve makes 2.9.
TOLERANCE = 1.0


@pytest.fixture(autouse=True)
def no_figures_left():
    """Matplotlib's own settings, and every figure closed at the end."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.use("agg")
        yield
        plt.close("all")


@pytest.fixture
def same_picture(tmp_path):
    """`same_picture(ax, "name")` fails if the figure differs from baseline/name.png.

    Text and legends are left out, and the layout that depends on the size of text is switched
    off: letters differ between releases of matplotlib and are tested as text. Draw
    images in Axes of whole pixels, as `plt.figure(figsize=(3, 3)).add_axes((0.1, 0.1, 0.8, 0.8))`.
    """

    def compare(ax, name):
        figure = ax.figure
        figure.set_layout_engine("none")
        for part in figure.axes:
            if part.get_legend() is not None:
                part.get_legend().set_visible(False)
        for text in figure.findobj(Text):
            text.set_visible(False)
        actual, stored = tmp_path / f"{name}.png", BASELINE / f"{name}.png"
        # Without the version of matplotlib, equal pictures are equal files.
        figure.savefig(actual, dpi=60, metadata={"Software": None})
        if os.environ.get(WRITE):
            BASELINE.mkdir(exist_ok=True)
            shutil.copy(actual, stored)
            return
        remedy = f"if this is meant, run the test with {WRITE}=1 and look at the new file"
        assert stored.exists(), f"no stored picture {stored.name}; {remedy}"
        # The comparison writes its difference beside the expected picture's copy.
        expected = Path(shutil.copy(stored, tmp_path / f"{name}-expected.png"))
        difference = compare_images(str(expected), str(actual), tol=TOLERANCE)
        assert difference is None, f"{stored.name} differs; {remedy}.\n{difference}"

    return compare
