"""What the user writes as a root."""

from collections.abc import Collection
from typing import Any

from .._messages import listed
from ..data.table import Table
from ..pipeline import Pipeline, start_of
from ..trajectory import Trajectory
from .console import Failure, Usage
from .results import Result


def parse_root(
    text: str | None, at: str = "tip", columns: Collection[str] = ()
) -> dict[str, Any] | None:
    """A root as `branchwise.pipeline.fit_pipeline` takes it.

    `at` says where to look for a label; `columns` tell which "=" ends the name of a column.

    Examples
    --------
    >>> from branchwise.cli.roots import parse_root
    >>> parse_root("T1"), parse_root("node=12"), parse_root("stage=I")
    ({'node': 'T1'}, {'node': 12}, {'column': 'stage', 'value': 'I', 'at': 'tip'})
    """
    if text is None:
        return None
    if text == "auto":
        return {}  # on a ring there is no T1
    if "=" not in text:
        return {"node": parse_node(text)}
    ends = [k for k, sign in enumerate(text) if sign == "="]
    end = next((k for k in ends if text[:k] in columns), ends[0])
    kind, value = text[:end], text[end + 1 :]
    if not kind or not value:
        raise Usage(
            f"--root {text!r} must be a milestone (T1), node=12, sample=P007, COLUMN=LABEL or auto."
        )
    if kind == "node":
        return {"node": parse_node(value)}
    if kind == "sample":
        return {"sample": value}
    return {"column": kind, "value": value, "at": at}


def parse_node(text: str | None) -> Any:
    """A node by its number, or the name of a milestone."""
    return int(text) if text is not None and text.isdecimal() else text


def rooted(made: Pipeline, result: Result, text: str | None, at: str) -> Trajectory:
    """The trajectory, from another root if one is given."""
    root = parse_root(text, at, result.annotations)
    if root is None:
        return made.trajectory
    if "sample" in root:
        if root["sample"] not in result.samples.index:
            raise Failure(
                f"--root sample={root['sample']} is no sample; they are "
                f"{listed(result.samples.index)}."
            )
        return made.trajectory.rooted(sample=int(result.samples.index.get_loc(root["sample"])))
    table = Table(
        X=result.samples[result.components].to_numpy(),
        features=result.components,
        samples=result.samples.index.tolist(),
        annotations=result.samples[result.annotations],
        source=str(result.folder),
    )
    return made.trajectory.rooted(**start_of(table, root))
