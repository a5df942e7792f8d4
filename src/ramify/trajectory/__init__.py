"""From a tree to an answer: roots, branches, pseudotime, trends, support."""
