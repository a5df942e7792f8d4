"""AnnData and scanpy: `tl` computes and writes slots, `pl` draws what they hold."""
