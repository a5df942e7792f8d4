"""Cells of text: numbers, what was meant as numbers, numbers with a unit, and codes."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._compat import import_pandas
from .._typing import Bools, Ints
from .categories import is_no_number

# A whole number with a zero before it is a code: 07766 is not 7766.
CODE = re.compile(r"\s*0\d+\s*")
NUMBER = r"[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)?"
WITH_UNIT = re.compile(
    rf"\s*({NUMBER})\s*((?:[x×*]?\s?10\^?\d+\s?/\s?)?[^\W\d_%][^\s,;]*(?: [^\W\d_]+)?|°\S+)\s*"
)
LIMIT = re.compile(rf"\s*(?:[<>≤≥~±=]\s*)+{NUMBER}\s*[%*]?\s*")
PERCENT = re.compile(rf"\s*{NUMBER}\s*%\s*")
COMMA = re.compile(r"\s*[+-]?(?:\d+,\d*|,\d+)(?:[eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(?:[ ,.'\u2019\u00a0\u202f]\d{3})+(?:[.,]\d+)?\s*")
# Signs of print that look like a hyphen.
MINUS = re.compile(r"\s*[\u2212\u2013]\s*(?:\d+(?:[.,]\d*)?|[.,]\d+)\s*")
# A number, or what was meant as one: "<5", "1,5", "1 234", "12 %".
MEANT_AS_NUMBER = re.compile(
    r"[<>≤≥=~±\s]*(?:[+-]|[\u2212\u2013]\s*)?"
    r"(\d+([.,]\d*)?|[.,]\d+|\d{1,3}([ ,.'\u2019\u00a0\u202f]\d{3})+([.,]\d+)?)"
    r"([eE][+-]?\d+)?\s*[%*]?"
)
# A number with a sign of money, a short mark (5 (H)), a range, or how exact it is (12 ± 3).
WITH_MORE = re.compile(
    rf"\s*(?:[€$£¥]\s*{NUMBER}|{NUMBER}\s*(?:[€$£¥]|±\s*{NUMBER}|[↑↓!]+"
    rf"|[(\[](?:[A-Za-z]{{1,2}}|[-+*!↑↓]+|[\d\s.,–-]+)[)\]]))\s*"
)
# Columns of words that are told: of their known cells at least so many, and this part, are numbers.
LEAST_NUMBERS, LEAST_SHARE = 5, 0.1
# Text of digits with more different values than clusters have may be measurements.
MOST_CLUSTERS = 10
# In small letters.
UNIT = re.compile(
    "kg|g|mg|[µμu]g|ng|pg|lbs?|oz|st|mmhg|cmh2o|k?pa|kcal|kj|j|[mcdk]?m|in|inch(es)?|ft|"
    "[dcmµμuf]?l|[mµμunp]?mol|m?[iu]?u|miu|meq|mosm|"
    "y|yrs?|years?|a|mo|mos|months?|w|wks?|weeks?|d|days?|h|hrs?|hours?|min|mins|minutes?|"
    "m?s|secs?|seconds?|bpm|k?hz|celsius|fahrenheit|pp[mb]|m?v|ma|m?gy|m?sv|copies|cells|points"
)
# "2nd" is a rank.
RANKS = frozenset(["st", "nd", "rd", "th"])


class Odd(NamedTuple):
    """A column of text that was meant as numbers, and is neither numbers nor words.

    Attributes
    ----------
    name : str
    kind : str
        A key of `branchwise.data.unreadable.KINDS`.
    n_bad, n_cells : int
        Cells that cannot be read, of so many in the column.
    first : str
        The first of these.
    row : int
        Where it is, counted from 1.
    n_levels : int
        Different texts in the column.
    parts : tuple of Odd
        If cells are of several kinds, those of each by themselves.
    """

    name: str
    kind: str
    n_bad: int
    n_cells: int
    first: str
    row: int
    n_levels: int
    parts: "tuple[Odd, ...]" = ()


class WithUnit(NamedTuple):
    """A column of which most cells have a number and a unit."""

    name: str
    first: str
    row: int
    number: str
    units: list[str]  # most frequent first; "" for none


class Mixed(NamedTuple):
    """A column of words of which some cells, or all with something else, are numbers."""

    name: str
    n_numbers: int
    n_known: int
    first: str  # that is not a number
    row: int


class Looked(NamedTuple):
    """What a column of text is: numbers, odd, with units, codes, or (nothing set) words."""

    numbers: Any = None
    odd: Odd | None = None
    unit: WithUnit | None = None
    is_code: bool = False  # whole numbers of which some begin with a zero
    mixed: Mixed | None = None
    is_stored: bool = False  # measurements, maybe, that a file with types has as text


def look_at_text(column: Any, *, typed: bool, is_number: bool = False) -> Looked:
    """A column of text as float64 with NaN for missing values, or what it is otherwise.

    `typed` says that the file declares types, so that numbers stored as text are text on purpose;
    `is_number` that the column is known to be one of numbers, so that they are not, nor codes.

    Examples
    --------
    >>> import pandas as pd
    >>> from branchwise.data.cells import look_at_text
    >>> look_at_text(pd.Series(["1.5", "unknown"]), typed=False).numbers
    array([1.5, nan])
    >>> look_at_text(pd.Series(["1", "2", "<5"], name="crp"), typed=False).odd
    Odd(name='crp', kind='limit', n_bad=1, n_cells=3, first='<5', row=3, n_levels=3, parts=())
    >>> look_at_text(pd.Series(["61 kg", "70 kg"], name="weight"), typed=False).unit.units
    ['kg']
    >>> look_at_text(pd.Series(["07766", "1"]), typed=False).is_code
    True
    """
    pandas = import_pandas()
    present = np.flatnonzero(column.notna().to_numpy())
    # Of many cells there are few texts, in the order in which they come; these are looked at.
    codes, cells = pandas.factorize(column.to_numpy(object)[present])
    texts = np.array([cell.strip() for cell in cells], dtype=object)
    is_text = np.array([not is_no_number(text) for text in texts], bool)
    known = is_text[codes]
    rows, codes, texts = present[known], (np.cumsum(is_text) - 1)[codes[known]], texts[is_text]
    good = ~np.isnan(pandas.to_numeric(pandas.Series(texts, dtype=object), errors="coerce"))
    good = np.asarray(good, dtype=bool)
    if not is_number:
        if any(text[0] == "0" and CODE.fullmatch(text) for text in texts[good]):
            return Looked(is_code=True)
        if typed and (good.all() or not len(texts)):
            return Looked(is_stored=len(texts) > MOST_CLUSTERS)
        if not len(texts) and not is_text.all():
            return Looked()
    if not good.all():
        cells = (texts, codes, rows, good)
        return look_at_odd(str(column.name), *cells, len(column), is_number=is_number)
    numbers = np.full(len(column), np.nan)
    numbers[rows] = np.array([float(text) for text in texts])[codes]
    return Looked(numbers)


def of_each(judge: Callable[[str], Any], cells: Iterable[str]) -> list[Any]:
    """What is to be said of each cell; the same text is looked at once.

    Examples
    --------
    >>> from branchwise.data.cells import of_each, one_kind
    >>> of_each(one_kind, ["<5", "high", "<5"])
    ['limit', 'word', 'limit']
    """
    cells = list(cells)
    found = {cell: judge(cell) for cell in dict.fromkeys(cells)}
    return [found[cell] for cell in cells]


def look_at_odd(
    name: str,
    texts: Any,
    codes: Ints,
    rows: Ints,
    good: Bools,
    n_cells: int,
    *,
    is_number: bool = False,
) -> Looked:
    """The same for known cells of which some are not numbers.

    `texts` are the different ones, and `good` says which of these are numbers; `codes` are those of
    the cells, which are in these `rows`. In a column known to be one of numbers all others are odd.
    """
    counts = np.bincount(codes, minlength=len(texts))
    meant = np.array([MEANT_AS_NUMBER.fullmatch(text) is not None for text in texts])
    if is_number or counts[meant | good].sum() > len(codes) / 2:
        is_bad = ~good[codes]
        first, bad = int(np.argmax(is_bad)), texts[codes[is_bad]]
        n_levels, row = len(set(texts)), int(rows[first]) + 1
        found = Odd(name, kind_of(bad), len(bad), n_cells, texts[codes[first]], row, n_levels)
        return Looked(odd=found._replace(parts=by_kind(found, bad, rows[is_bad].tolist())))
    split = [WITH_UNIT.fullmatch(text) for text in texts]
    units = Counter[str]()
    for found_in, count in zip(split, counts.tolist(), strict=True):
        units.update({found_in[2]: count} if found_in else {})
    if sum(units.values()) <= len(codes) / 2 or not are_units(units):
        return Looked(mixed=look_at_words(name, texts, codes, rows, good))
    first, number = next((k, found_in[1]) for k, found_in in enumerate(split) if found_in)
    written = [unit for unit, _ in units.most_common()] + ([""] if (meant | good).any() else [])
    row = int(rows[np.argmax(codes == first)]) + 1
    return Looked(unit=WithUnit(name, texts[first], row, number, written))


def look_at_words(name: str, texts: Any, codes: Ints, rows: Ints, good: Bools) -> Mixed | None:
    """What is to be told of words with numbers among them; None if these are few.

    Examples
    --------
    >>> import numpy as np
    >>> from branchwise.data.cells import look_at_words
    >>> texts, rows = np.array(["60€", "7€"], dtype=object), np.arange(2)
    >>> look_at_words("cost", texts, rows, rows, np.array([False, False]))
    Mixed(name='cost', n_numbers=0, n_known=2, first='60€', row=1)
    """
    n_known, n_numbers = len(codes), int(good[codes].sum())
    has_more = np.array([WITH_MORE.fullmatch(text) is not None for text in texts])
    has_many = n_numbers >= max(LEAST_NUMBERS, LEAST_SHARE * n_known)
    if not has_many and (has_more | good)[codes].sum() <= n_known / 2:
        return None
    first = int(np.argmax(~good[codes]))
    return Mixed(name, n_numbers, n_known, texts[codes[first]], int(rows[first]) + 1)


def are_units(units: Counter[str]) -> bool:
    """Whether what stands after numbers are units: known ones, or one word after all of them.

    Stages (1A, 2B) and ranks (2nd) are not.

    Examples
    --------
    >>> from collections import Counter
    >>> from branchwise.data.cells import are_units
    >>> [are_units(Counter(c)) for c in (["kg", "lb"], ["A", "B"], ["nd", "rd"], ["drinks"])]
    [True, False, False, True]
    """
    total = sum(units.values())
    known = sum(n for unit, n in units.items() if "/" in unit or unit[0] == "°" or is_unit(unit))
    if known > total / 2:
        return True
    [(first, count)] = units.most_common(1)
    return count == total and len(first) > 2 and first.isalpha() and first.lower() not in RANKS


def is_unit(text: str) -> bool:
    """Whether it is a unit, maybe squared or cubed."""
    small = text.lower().rstrip("²³^23.")
    return text != "A" and UNIT.fullmatch(small) is not None


def kind_of(cells: Sequence[str]) -> str:
    """What keeps most of these cells from being numbers."""
    return Counter(of_each(one_kind, cells)).most_common(1)[0][0]


def by_kind(odd: Odd, cells: Sequence[str], rows: Sequence[int]) -> tuple[Odd, ...]:
    """An odd column for each kind of its cells, if there are several.

    Decimal commas and signs between thousands look alike, and are of one kind: the more frequent.

    Examples
    --------
    >>> from branchwise.data.cells import Odd, by_kind
    >>> odd = Odd("crp", "limit", 3, 150, "<5", 1, 140)
    >>> [(p.kind, p.n_bad, p.first, p.row) for p in by_kind(odd, ["<5", "1,5", "<3"], [0, 4, 7])]
    [('limit', 2, '<5', 1), ('comma', 1, '1,5', 5)]
    """
    kinds = of_each(one_kind, cells)
    commas = Counter(kind for kind in kinds if kind in ("comma", "thousands"))
    usual = commas.most_common(1)[0][0] if commas else ""
    kinds = [usual if kind in commas else kind for kind in kinds]
    if len(set(kinds)) == 1:
        return ()
    found = []
    for kind in dict.fromkeys(kinds):
        first = kinds.index(kind)
        row, n_bad = int(rows[first]) + 1, kinds.count(kind)
        found.append(odd._replace(kind=kind, n_bad=n_bad, first=cells[first], row=row))
    return tuple(found)


def one_kind(cell: str) -> str:
    """What keeps one cell from being a number.

    Examples
    --------
    >>> from branchwise.data.cells import one_kind
    >>> [one_kind(cell) for cell in ("<5", "1,5", "12 %", "1 234", "1,234", "61 kg", "H1047R")]
    ['limit', 'comma', 'percent', 'thousands', 'thousands', 'unit', 'word']
    >>> one_kind("1e999")
    'large'
    """
    for kind, pattern in (
        ("limit", LIMIT),
        ("percent", PERCENT),
        ("thousands", THOUSANDS),
        ("comma", COMMA),
        ("minus", MINUS),
    ):
        if pattern.fullmatch(cell):
            return kind
    if re.fullmatch(NUMBER, cell.strip()):
        return "large"
    found = WITH_UNIT.fullmatch(cell)
    return "unit" if found and are_units(Counter([found[2]])) else "word"
