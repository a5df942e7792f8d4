"""New samples on a tree: what is likely of those with gaps, and how much to trust a place."""
