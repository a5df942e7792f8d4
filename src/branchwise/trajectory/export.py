"""A trajectory for other programs: networkx graphs, Newick, GraphML and JSON."""

import json
import os
from typing import Any

import numpy as np

from .._compat import import_networkx
from .._writing import replacing
from .tables import branch_table, milestone_table, sample_table
from .view import View


def node_graph(view: View) -> Any:
    """All nodes and edges as a networkx graph (see `Trajectory.to_networkx`)."""
    networkx = import_networkx()
    found = view.branches
    name = dict(zip(found.found.milestones.tolist(), found.milestones, strict=True))
    n_samples = np.bincount(view.placement.edge, minlength=len(view.geometry.edges))
    graph = networkx.MultiGraph() if has_doubles(view.geometry.edges) else networkx.Graph()
    roots = set(view.all_roots.tolist())
    for node, position in enumerate(view.geometry.nodes):
        graph.add_node(
            node,
            pos=tuple(position.tolist()),
            pseudotime=float(view.node_time[node]),
            milestone=name.get(node, ""),
            is_root=node in roots,
        )
    for edge, (a, b) in enumerate(view.geometry.edges.tolist()):
        graph.add_edge(
            a,
            b,
            length=float(view.placement.lengths[edge]),
            branch=str(found.names[found.found.of_edge[edge]]),
            n_samples=int(n_samples[edge]),
        )
    return graph


def milestone_graph(view: View) -> Any:
    """Milestones and branches as a directed networkx graph (see `Trajectory.to_networkx`)."""
    networkx = import_networkx()
    found = view.branches
    nodes, edges = found.found.milestones, found.placed.edges
    graph = networkx.MultiDiGraph() if has_doubles(edges) else networkx.DiGraph()
    roots = set(view.all_roots.tolist())
    for name, node in zip(found.milestones, nodes.tolist(), strict=True):
        graph.add_node(
            name,
            node=node,
            pos=tuple(view.geometry.nodes[node].tolist()),
            pseudotime=float(view.node_time[node]),
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


def newick(view: View) -> str:
    """One tree per line, from the root outwards, with the names of milestones and lengths."""
    found = view.branches
    edges, lengths = found.placed.edges, found.placed.lengths
    real = edges[:, 0] != edges[:, 1]
    children: dict[int, list[int]] = {}
    for branch in np.flatnonzero(real).tolist():
        children.setdefault(int(edges[branch, 0]), []).append(branch)
    is_end = np.bincount(edges[real, 1], minlength=len(found.milestones))
    is_root = np.isin(found.found.milestones, view.all_roots)
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


def graphml(view: View) -> str:
    """All nodes and edges in GraphML, with coordinates as attributes x1, x2 and so on."""
    networkx = import_networkx()
    graph = node_graph(view)
    for _, data in graph.nodes(data=True):
        data |= {f"x{k}": value for k, value in enumerate(data.pop("pos"), 1)}
    return "\n".join(networkx.generate_graphml(graph))


def as_json(view: View, names: Any) -> str:
    """Graph, milestones, branches and samples, as one JSON object."""
    placement = view.placement
    document = {
        "format": "branchwise trajectory",
        "version": 1,
        "nodes": view.geometry.nodes.tolist(),
        "edges": view.geometry.edges.tolist(),
        "lengths": view.placement.lengths.tolist(),
        "roots": view.all_roots.tolist(),
        "milestones": records(milestone_table(view)),
        "branches": records(branch_table(view)),
        "samples": records(
            sample_table(view, names).assign(edge=placement.edge, position=placement.position)
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
    """Methods of `Trajectory` that write it for other programs."""

    view: View
    names_: Any

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
        return node_graph(self.view) if level == "nodes" else milestone_graph(self.view)

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
        return to_file(newick(self.view), path)

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
        return to_file(graphml(self.view), path)

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
        return to_file(as_json(self.view, self.names_), path)
