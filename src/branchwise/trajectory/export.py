"""A trajectory for other programs: networkx graphs, Newick, GraphML and JSON."""

import json
import os
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from .._compat import import_networkx
from .._writing import replacing

if TYPE_CHECKING:
    from .core import Trajectory


def node_graph(trajectory: "Trajectory") -> Any:
    """All nodes and edges as a networkx graph (see `Trajectory.to_networkx`)."""
    networkx = import_networkx()
    found = trajectory.view.branches
    name = dict(zip(found.found.milestones.tolist(), found.milestones, strict=True))
    n_samples = np.bincount(trajectory.placement_.edge, minlength=len(trajectory.edges_))
    graph = networkx.MultiGraph() if has_doubles(trajectory.edges_) else networkx.Graph()
    roots = set(trajectory.roots_.tolist())
    for node, place in enumerate(trajectory.nodes_):
        graph.add_node(
            node,
            pos=tuple(place.tolist()),
            pseudotime=float(trajectory.view.node_time[node]),
            milestone=name.get(node, ""),
            is_root=node in roots,
        )
    for edge, (a, b) in enumerate(trajectory.edges_.tolist()):
        graph.add_edge(
            a,
            b,
            length=float(trajectory.lengths_[edge]),
            branch=str(found.names[found.found.of_edge[edge]]),
            n_samples=int(n_samples[edge]),
        )
    return graph


def milestone_graph(trajectory: "Trajectory") -> Any:
    """Milestones and branches as a directed networkx graph (see `Trajectory.to_networkx`)."""
    networkx = import_networkx()
    found = trajectory.view.branches
    nodes, edges = found.found.milestones, found.placed.edges
    graph = networkx.MultiDiGraph() if has_doubles(edges) else networkx.DiGraph()
    roots = set(trajectory.roots_.tolist())
    for name, node in zip(found.milestones, nodes.tolist(), strict=True):
        graph.add_node(
            name,
            node=node,
            pos=tuple(trajectory.nodes_[node].tolist()),
            pseudotime=float(trajectory.view.node_time[node]),
            is_root=node in roots,
        )
    n_samples = np.bincount(found.placed.edge, minlength=len(edges))
    for branch, (a, b) in enumerate(edges.tolist()):
        graph.add_edge(
            found.milestones[a],
            found.milestones[b],
            branch=str(found.names[branch]),
            length=float(found.placed.lengths[branch]),
            n_samples=int(n_samples[branch]),
        )
    return graph


def has_doubles(edges: Any) -> bool:
    """Whether two nodes have several edges between them, which simple graphs cannot hold."""
    return len(np.unique(np.sort(edges, axis=1), axis=0)) < len(edges)


def newick(trajectory: "Trajectory") -> str:
    """One tree per line, from the root outwards, with the names of milestones and lengths."""
    found = trajectory.view.branches
    edges, lengths = found.placed.edges, found.placed.lengths
    real = edges[:, 0] != edges[:, 1]
    children: dict[int, list[int]] = {}
    for branch in np.flatnonzero(real).tolist():
        children.setdefault(int(edges[branch, 0]), []).append(branch)
    is_end = np.bincount(edges[real, 1], minlength=len(found.milestones))
    is_root = np.isin(found.found.milestones, trajectory.roots_)
    if np.any(lengths[~real] > 0) or np.any(is_end + is_root > 1):
        raise ValueError(
            "Newick holds trees with one root each, but this trajectory has a cycle or several "
            "roots in one tree; use to_graphml or to_json."
        )
    lines = []
    for root in np.flatnonzero(is_root).tolist():
        # Without recursion: a tree of many forks may be deeper than the interpreter's stack.
        text: dict[int, str] = {}
        todo = [root]
        order = []
        while todo:
            milestone = todo.pop()
            order.append(milestone)
            todo += [int(edges[branch, 1]) for branch in children.get(milestone, [])]
        for milestone in reversed(order):
            inner = ",".join(
                f"{text.pop(int(edges[branch, 1]))}:{lengths[branch]:.10g}"
                for branch in children.get(milestone, [])
            )
            text[milestone] = f"({inner})" * bool(inner) + found.milestones[milestone]
        lines.append(text[root] + ";")
    return "\n".join(lines)


def graphml(trajectory: "Trajectory") -> str:
    """All nodes and edges in GraphML, with coordinates as attributes x1, x2 and so on."""
    networkx = import_networkx()
    graph = node_graph(trajectory)
    for _, data in graph.nodes(data=True):
        data |= {f"x{k}": value for k, value in enumerate(data.pop("pos"), 1)}
    return "\n".join(networkx.generate_graphml(graph))


def as_json(trajectory: "Trajectory") -> str:
    """Graph, milestones, branches and samples, as one JSON object."""
    placement = trajectory.placement_
    document = {
        "format": "branchwise trajectory",
        "version": 1,
        "nodes": trajectory.nodes_.tolist(),
        "edges": trajectory.edges_.tolist(),
        "lengths": trajectory.lengths_.tolist(),
        "roots": trajectory.roots_.tolist(),
        "milestones": records(trajectory.milestones_),
        "branches": records(trajectory.branch_table_),
        "samples": records(
            trajectory.samples_.assign(edge=placement.edge, position=placement.position)
        ),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def records(table: Any) -> list[dict[str, Any]]:
    """The rows of a table as plain dictionaries."""
    rows = table.reset_index().to_dict("records")
    return [{key: plain(value) for key, value in row.items()} for row in rows]


def plain(value: Any) -> Any:
    """A NumPy number as Python's; what JSON cannot hold as text or null."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value if isinstance(value, bool | int | float | str | None) else str(value)


def to_file(text: str, path: str | os.PathLike[str] | None) -> str | None:
    """The text itself or, if there is a path to write it to, None."""
    if path is None:
        return text
    with replacing(path) as file:
        file.write(text + "\n")
    return None


class ExportMixin:
    """Methods of `Trajectory` that lead to other programs."""

    @property
    def _itself(self) -> "Trajectory":
        return cast("Trajectory", self)

    def save(self, path: Any) -> None:
        """Write graph, roots and estimator to a model file, for `branchwise.load`.

        What is loaded can `place` new samples and be rooted or pruned again. The names of the
        samples are not in the file, nor is how the trajectory was made, which `support` needs.

        Parameters
        ----------
        path : path
            File to write, by custom with the ending ``.branchwise``.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from sklearn.datasets import load_iris
        >>> import branchwise
        >>> X = load_iris(as_frame=True).data
        >>> flowers = branchwise.trajectory.learn_trajectory(X, random_state=0)
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "flowers.branchwise"
        >>> flowers.save(file)
        >>> again = branchwise.load(file)
        >>> bool((again.place(X) == flowers.place(X)).all(axis=None))
        True
        """
        from ..persistence.format import write_state
        from ..persistence.trajectory import trajectory_state

        write_state(path, trajectory_state(self._itself))

    def to_networkx(self, level: str = "nodes") -> Any:
        """The graph for networkx.

        Parameters
        ----------
        level : {"nodes", "milestones"}, default="nodes"
            "nodes": an undirected graph of all nodes (numbers) with their ``pos``, ``pseudotime``,
            ``milestone`` (name or empty) and ``is_root``, and of all edges with ``length``,
            ``branch`` and ``n_samples``. "milestones": a directed graph of tips, forks and roots
            (names), and of branches that lead away from the root.

        Returns
        -------
        graph : networkx.Graph or networkx.DiGraph
            A multigraph if several edges, or branches, join the same two nodes.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> path = Trajectory([[0, 1], [1, 2]], np.array([[0.0], [1.0], [3.0]]))
        >>> path.to_networkx().number_of_nodes()
        3
        >>> list(path.to_networkx("milestones").edges(data="length"))
        [('T1', 'T2', 3.0)]
        """
        if level not in {"nodes", "milestones"}:
            raise ValueError(f"level={level!r} must be 'nodes' or 'milestones'.")
        return node_graph(self._itself) if level == "nodes" else milestone_graph(self._itself)

    def to_newick(self, path: Any = None) -> str | None:
        """The milestones and branches as trees in Newick format, one per line, from the root.

        Parameters
        ----------
        path : path or None, default=None
            File to write; None returns the text.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> nodes = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 0.0], [2.0, 1.0]])
        >>> print(Trajectory([[0, 1], [1, 2], [1, 3]], nodes).to_newick())
        ((T2:2,T3:1)F1:2)T1;
        """
        return to_file(newick(self._itself), path)

    def to_graphml(self, path: Any = None) -> str | None:
        """All nodes and edges in GraphML, for Cytoscape, Gephi or igraph.

        Parameters
        ----------
        path : path or None, default=None
            File to write; None returns the text.

        Examples
        --------
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> text = Trajectory([[0, 1]], np.array([[0.0], [1.0]])).to_graphml()
        >>> text.count("<node"), text.count("<edge")
        (2, 1)
        """
        return to_file(graphml(self._itself), path)

    def to_json(self, path: Any = None) -> str | None:
        """Everything in one JSON object: nodes, edges, milestones, branches and samples.

        Parameters
        ----------
        path : path or None, default=None
            File to write; None returns the text.

        Examples
        --------
        >>> import json
        >>> import numpy as np
        >>> from branchwise.trajectory import Trajectory
        >>> path = Trajectory([[0, 1]], np.array([[0.0], [1.0]]))
        >>> list(json.loads(path.to_json()))[2:6]
        ['nodes', 'edges', 'lengths', 'roots']
        """
        return to_file(as_json(self._itself), path)

    def to_html(
        self,
        path: Any = None,
        *,
        features: Any = None,
        feature_names: Any = None,
        show: Any = (),
        annotations: Any = None,
        preparation: Any = None,
        color: str | None = None,
        title: str | None = None,
    ) -> str | None:
        """An interactive report: one HTML file that works without a network (docs/report.md).

        Parameters
        ----------
        path : path or None, default=None
            File to write; None returns the text.
        features : array, sparse matrix or DataFrame of shape (n_samples, n_features), optional
            Values to colour by and to draw along the branches. They are in the page: mail it only
            to those who may see them.
        feature_names : sequence of str, optional
            By default the columns of a DataFrame, or x0, x1, …
        show : sequence of str, optional
            Features to have in the page besides the 60 that change most along the tree.
        annotations : DataFrame, Series or dict of columns, optional
            What else is known of the samples, one row for each: numbers, categories, dates.
        preparation : Preparation, optional
            What was done to ``features`` before the fit, so that the page can place new samples.
        color : str, optional
            The column to colour by at first, also one that is computed: "pseudotime", "branch",
            "density", …
        title : str, optional

        Examples
        --------
        >>> from branchwise.datasets import make_tree
        >>> from branchwise.trajectory import learn_trajectory
        >>> data = make_tree(300, 10, noise=0.1, random_state=0)  # simulated
        >>> path = learn_trajectory(data.X, random_state=0)
        >>> html = path.to_html(features=data.X, annotations={"branch": data.branch})
        >>> html.startswith("<!doctype html>")
        True
        """
        from ..report.page import to_html

        return to_html(
            path,
            self._itself,
            features=features,
            feature_names=feature_names,
            show=show,
            annotations=annotations,
            preparation=preparation,
            color=color,
            title=title,
        )
