"""docs/equations.md names nothing that does not exist and forgets no label of the paper."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "equations.md").read_text("utf-8")

LABELS = """
op:mvu con:preserve con:origin op:dual-mvu eq:yx op:mll eq:gplvm op:ebi op:ebi-W prop:ebi-W eq:post
op:ebi-SW eq:subgradient alg:spl op:MAP prop:transform op:maxmin-linear op:graph-criterion
op:spl-graph op:RelaxLP op:dimred-tree op:dimred-kmeans-tree op:dimred-kmeans-relax-tree algo2
prop:R op:2-R prop:mean-shift prop:k-means lemma:psd prop:ddr-WZY op:dimred-graph op:sl op:drill
""".split()  # noqa: SIM905


def named(pattern):
    return sorted(set(re.findall(rf"`({pattern})`", TEXT)))


def resolve(name):
    """Import the longest module prefix, then follow attributes."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("name", named(r"branchwise(?:_paper)?\.[\w.]+"))
def test_named_code_exists(name):
    assert resolve(name) is not None


@pytest.mark.parametrize("name", named(r"(?:paper/)?tests/[\w/]+\.py(?:::\w+)?"))
def test_named_test_exists(name):
    path, _, function = name.partition("::")
    source = (ROOT / path).read_text("utf-8")
    assert re.search(rf"^def {function or 'test_'}", source, re.MULTILINE), name


def test_every_label_of_the_paper_is_there():
    assert [label for label in LABELS if f"`{label}`" not in TEXT] == []


def test_every_row_of_the_tables_has_code_and_proof():
    tables = TEXT.split("## Errors of the paper")[0]
    rows = [line for line in tables.splitlines() if re.match(r"\| (?!label|---)", line)]
    assert len(rows) > 25
    for row in rows:
        _, _, _, code, proof, _ = re.split(r" ?\| ?", row)
        assert re.search(r"`branchwise(_paper)?\.", code), row
        assert re.search(r"`(paper/)?tests/", proof), row
