"""AnnData and scanpy: `branchwise.tl` computes and writes slots, `branchwise.pl` draws what they hold."""
