"""Names of levels, and cells that say that there is no value."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.data.categories import as_level, distinct, is_blank

SPELLINGS = {
    "LumA ": "LumA",
    " 2.0": "2",
    "+2": "2",
    "-0": "0",
    "1.50": "1.5",
    ".5": "0.5",
    "1e5": "100000",
    "1E5": "100000",
    "1e300": "1e300",
    "007": "007",
    "9007199254740993": "9007199254740993",
    "TRUE": "True",
    "1e5x": "1e5x",
}  # the same as in web/test/model/prepare.test.js


@pytest.mark.parametrize(("text", "level"), SPELLINGS.items())
def test_a_level_has_one_name(text, level):
    assert as_level(text) == level
    assert as_level(level) == level


@given(
    st.one_of(
        st.text(max_size=8),
        st.integers(-(10**20), 10**20),
        st.floats(-(2.0**52), 2.0**52),
        st.floats(width=32, min_value=-(2.0**52), max_value=2.0**52).map(np.float32),
        st.decimals(allow_nan=False, allow_infinity=False, places=3),
        st.booleans(),
        st.from_regex(r"[+-]?\d{0,4}\.?\d{0,3}([eE][+-]?\d{1,3})?", fullmatch=True),
    )
)
def test_the_name_of_a_level_is_its_own(value):
    assert as_level(as_level(value)) == as_level(value)


def test_numbers_of_any_type_have_one_name():
    assert {as_level(v) for v in (1.5, "1.50", Decimal("1.50"), np.float32(1.5))} == {"1.5"}
    assert distinct(np.array([0.1, 0.1], dtype=np.float32))[1] == [0.1]


def test_words_for_a_missing_value_are_missing():
    cells = ["NA", " n/a", "<NA>", "None", "unknown", pd.NA]
    assert is_blank(cells).tolist() == [True, True, True, False, False, True]
    assert distinct(cells)[0].tolist() == [-1, -1, -1, 0, 1, -1]
