"""From a tree to an answer."""
