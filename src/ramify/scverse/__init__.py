"""AnnData and scanpy: `ramify.tl` computes and writes slots, `ramify.pl` draws what they hold."""
