"""The one table of samples, which `fit` and `transform` write alike."""

from collections import Counter
from collections.abc import Collection
from typing import Any

import numpy as np

from .._compat import import_pandas
from .._messages import counted
from .._typing import Floats
from ..pipeline import Pipeline

# Digits that a person reads.
DIGITS = 5
# A place is doubtful if the p of its row is no larger.
LEVEL = 0.05
# So many columns are named of all rows.
N_BLAMED = 5
# So many rows are named that are placed nowhere.
N_UNKNOWN = 5


def samples_table(places: Any, annotations: Any) -> tuple[Any, dict[str, str]]:
    """Places, then annotations, and what our columns are called in it, by their own names.

    Parameters
    ----------
    places : DataFrame
        As `Pipeline.place` returns it.
    annotations : DataFrame
        What else the table says of the same rows; its columns keep their names.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.samples import samples_table
    >>> places = pd.DataFrame({"p": [0.5]}, index=["a"])
    >>> table, names = samples_table(places, pd.DataFrame({"p": ["x"], "sex": ["f"]}))
    >>> table.reset_index().to_dict("list"), names
    ({'id': ['a'], 'p_': [0.5], 'p': ['x'], 'sex': ['f']}, {'p': 'p_'})
    """
    pandas, taken = import_pandas(), set(annotations.columns)
    names = {name: unused(name, taken) for name in places.columns}
    places = places.set_axis(list(names.values()), axis=1)
    places.index = pandas.Index(places.index, name=unused("id", taken))
    return pandas.concat([places, annotations.set_axis(places.index, axis=0)], axis=1), names


def unused(name: str, taken: Collection[str]) -> str:
    """The name, with underscores after it if the table has a column of that name.

    Examples
    --------
    >>> from branchwise.cli.samples import unused
    >>> unused("p", ["sex"]), unused("p", ["p"])
    ('p', 'p_')
    """
    while name in taken:
        name += "_"
    return name


def readable(frame: Any, columns: Collection[str]) -> Any:
    """The table with so many digits in these columns as a person reads.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.samples import readable
    >>> table = pd.DataFrame({"p": [1 / 3, 123456.7], "age": [1 / 3, 0.0]})
    >>> readable(table, ["p"]).to_dict("list")
    {'p': [0.33333, 123460.0], 'age': [0.3333333333333333, 0.0]}
    """
    shown = frame.copy(deep=False)
    for name in columns:
        if frame[name].dtype.kind == "f":
            shown[name] = significant(frame[name].to_numpy())
    return shown


def significant(values: Floats, digits: int = DIGITS) -> Floats:
    """Numbers rounded to so many significant digits.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.cli.samples import significant
    >>> significant(np.array([0.00123456789, -9.999996, 0.0, np.nan, 2.0]))
    array([ 1.2346e-03, -1.0000e+01,  0.0000e+00,         nan,  2.0000e+00])
    """
    values = np.asarray(values, dtype=np.float64)
    some = np.isfinite(values) & (np.abs(values) > 1e-250)
    size = np.floor(np.log10(np.abs(values), out=np.zeros_like(values), where=some))
    place = digits - 1 - size
    # Powers of ten with a whole exponent are exact up to 22: what is divided by them is the
    # number with these digits.
    up, down = 10.0 ** np.maximum(place, 0), 10.0 ** np.maximum(-place, 0)
    return np.where(some, np.round(values * up / down) * down / up, values)


def most_by_chance(n_rows: int) -> float:
    """So many of these rows at most have a p of 0.05 or less by chance, in 19 of 20 tables.

    Examples
    --------
    >>> from branchwise.cli.samples import most_by_chance
    >>> [round(most_by_chance(n), 1) for n in (1, 10, 100)]
    [0.4, 1.6, 8.6]
    """
    return float(LEVEL * n_rows + 1.645 * np.sqrt(LEVEL * (1 - LEVEL) * n_rows))


class Doubts:
    """Rows that lie far from the tree or between branches, and the columns to blame, counted.

    Tables come part by part.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.cli.samples import Doubts
    >>> row = {"p": [0.01], "out_of_range": ["hb 135 (8 to 17)"], "drivers": [""], "distance": 1.0}
    >>> doubts = Doubts(["hb"])
    >>> doubts.add(pd.DataFrame(row | {"branch": "A-B", "likeliest_branch": "A-B"}))
    >>> print(doubts.sentences()[2])
    Columns most often to blame (look at their units): 'hb' (1).
    """

    def __init__(self, features: Collection[str]) -> None:
        self.features = set(features)
        self.n_rows = self.n_far = self.n_beyond = self.n_unknown = 0
        self.n_placed = self.n_between = 0
        self.unknown: list[str] = []
        self.blamed: Counter[str] = Counter()

    def add(self, places: Any) -> None:
        """Count those of some places."""
        is_far = (places["p"] <= LEVEL).to_numpy()
        self.n_rows += int(places["p"].notna().sum())
        self.n_far += int(is_far.sum())
        self.n_beyond += int((places["out_of_range"] != "").sum())
        unknown = places.index[places["distance"].isna()]
        self.n_unknown += len(unknown)
        self.unknown += map(repr, map(str, unknown[: N_UNKNOWN - len(self.unknown)]))
        self.n_placed += int(places["distance"].notna().sum())
        if "branch" in places:  # not without a root
            likely = places["likeliest_branch"]
            self.n_between += int((likely.notna() & (likely != places["branch"])).sum())
        is_doubtful = is_far | (places["out_of_range"] != "").to_numpy()
        doubtful = places[is_doubtful]
        for words in zip(doubtful["out_of_range"], doubtful["drivers"], strict=True):
            names = [name for text in words for name in named(text, self.features)]
            self.blamed.update(list(dict.fromkeys(names)))

    def sentences(self) -> list[str]:
        """What to tell, if there is anything; columns are blamed for more than chance makes."""
        most = 0.0 if self.n_beyond else most_by_chance(self.n_rows)
        is_chance = self.n_far <= most
        found = [self.of_far(is_chance=is_chance)] if self.n_far else []
        if self.n_beyond:
            found.append(
                f"{self.n_beyond:,} of {counted(self.n_placed, 'row')} "
                f"{'has' if self.n_beyond == 1 else 'have'} values beyond the range of the rows "
                "of the fit."
            )
        if self.blamed and not (is_chance and not self.n_beyond):
            named = [f"{name!r} ({count:,})" for name, count in self.blamed.most_common(N_BLAMED)]
            more = ["and others"] if len(self.blamed) > N_BLAMED else []
            found.append(
                "Columns most often to blame (look at their units): "
                + ", ".join(named + more)
                + "."
            )
        found += [self.of_between()] if self.n_between else []
        if self.n_unknown:
            one = self.n_unknown == 1
            found.append(
                f"{counted(self.n_unknown, 'row')} {'has' if one else 'have'} no value of any "
                f"feature and {'is' if one else 'are'} placed nowhere: {self.names_of_unknown()}."
            )
        return found

    def names_of_unknown(self) -> str:
        """The first rows that are placed nowhere."""
        rest = self.n_unknown - N_UNKNOWN
        return ", ".join(self.unknown) + (f" and {rest:,} more" if rest > 0 else "")

    def of_far(self, *, is_chance: bool) -> str:
        """How many rows lie far, and whether to look at them."""
        one = self.n_far == 1
        look = f"look at {'it' if one else 'them'} before you trust "
        look += "its place" if one else "their places"
        rest = "so many may be chance" if is_chance else look
        return (
            f"{self.n_far:,} of {counted(self.n_rows, 'row')} "
            f"({100 * self.n_far / self.n_rows:.0f} %; 5 % are usual) "
            f"{'lies' if one else 'lie'} farther from the tree than 95 % of the rows "
            f"of the fit (p <= 0.05); {rest}."
        )

    def of_between(self) -> str:
        """How many rows are likelier to belong to another branch than the nearest one."""
        one = self.n_between == 1
        return (
            f"{self.n_between:,} of {counted(self.n_placed, 'row')} "
            f"({100 * self.n_between / self.n_placed:.0f} %) {'lies' if one else 'lie'} nearest "
            f"to one branch but more likely {'belongs' if one else 'belong'} to another "
            f"(likeliest_branch): the branch of {'this row' if one else 'these rows'} is not "
            "certain."
        )

    def facts(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "far": self.n_far,
            "out_of_range": self.n_beyond,
            "between_branches": self.n_between,
            "nothing_known": self.n_unknown,
            "blamed": dict(self.blamed.most_common(N_BLAMED)),
        }


def named(text: str, known: Collection[str]) -> list[str]:
    """The columns that words like those of `branchwise.placing.words` name.

    Examples
    --------
    >>> from branchwise.cli.samples import named
    >>> words = "sepal (cm) 36 (2 to 4.4); a; b 135 (expected 13); sex; and 2 more"
    >>> named(words, ["sepal (cm)", "a; b", "sex"])
    ['sepal (cm)', 'a; b', 'sex']
    """
    found, begun = list[str](), ""
    for part in text.split("; "):
        word = begun + part
        # A name alone, or with its value and a remark.
        before = word.rpartition(" (")[0].rpartition(" ")[0] if word.endswith(")") else word
        name = next((name for name in (word, before) if name in known), None)
        begun = "" if name is not None else f"{word}; "
        found += [] if name is None else [name]
    return found


def our_columns(made: Pipeline, names: dict[str, str]) -> dict[str, list[str]]:
    """What columns of ours are called in a table, by kind, for run.json."""
    components = list(made.estimator.get_feature_names_out())
    linear = [f"projection{k}" for k in range(len(components))]
    rest = [name for name in names if name not in {*components, *linear}]
    kinds = {"places": rest, "embedding": components, "projection": linear}
    return {kind: [names[name] for name in of if name in names] for kind, of in kinds.items()}
