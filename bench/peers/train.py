"""Training with PyTorch: forward and backward alone, and whole steps of pairs, optimiser included."""

from peers.encode import config, sentence_encoder, token_ids

SHAPE = (16, 64)
# The target ratios, by precision; that of bfloat16 to autocast.
TARGETS = {"f32": 1.0, "bf16": 0.6}
SCALE = 20.0
LOSSES = {
    "backward": "sum of squares of the mean-pooled vectors, no dropout, gradients of every weight",
    "step": f"{SHAPE[0]} mentions and as many entities through one tower, in-batch cross-entropy of {SCALE:g} times the cosines, gradients "
            "clipped to 1, AdamW",
}


def training(options):
    """(kind, precision) -> a function that runs it once; empty if the encoder's window is too short."""
    import torch

    if SHAPE[1] > config(options.model)["max_position_embeddings"]:
        return {}
    ids, mask = (torch.from_numpy(values) for values in token_ids(options.model, *SHAPE))
    others = ids.flip(0).roll(1, 1)

    def backward(precision):
        encoder = sentence_encoder(options.model, "sdpa")

        def once():
            encoder.zero_grad(set_to_none=True)
            with autocast(precision):
                pooled = encoder.pooled(ids, mask)
            pooled.float().square().sum().backward()

        return once

    def step(precision):
        encoder = sentence_encoder(options.model, "sdpa")
        # Like pel: one pass over all weights for norm and update.
        optimiser = torch.optim.AdamW(encoder.parameters(), lr=1e-5, eps=1e-6, weight_decay=0.01, fused=True)

        def once():
            optimiser.zero_grad(set_to_none=True)
            with autocast(precision):
                mentions, entities = encoder(ids, mask), encoder(others, mask)
            scores = SCALE * mentions.float() @ entities.float().T
            torch.nn.functional.cross_entropy(scores, torch.arange(len(scores))).backward()
            torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
            optimiser.step()

        return once

    def autocast(precision):
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16")

    return {(kind, precision): make(precision)
            for precision in ("f32", "bf16") for kind, make in (("backward", backward), ("step", step))}
