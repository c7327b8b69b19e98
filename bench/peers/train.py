"""A training step of PyTorch: forward and backward through the encoder, without the optimiser's part."""

from peers.encode import config, sentence_encoder, token_ids

SHAPE = (16, 64)
# The ratio to stay below.
TARGET = 1.5
LOSS = "sum of squares of the mean-pooled vectors, no dropout, gradients of every weight"


def training_step(options):
    """A function that runs one step: `[batch, seq]` token ids to gradients; none if the encoder takes no such row."""
    import torch

    if SHAPE[1] > config(options)["max_position_embeddings"]:
        return None
    encoder = sentence_encoder(options.model, "sdpa")
    ids, mask = (torch.from_numpy(values) for values in token_ids(options, *SHAPE))

    def step():
        encoder.zero_grad(set_to_none=True)
        encoder.pooled(ids, mask).square().sum().backward()

    return step
