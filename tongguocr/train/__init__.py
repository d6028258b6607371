"""Training (needs the extra `train`): the small recogniser, its data and its stages.

model   a vision encoder and a causal text decoder over the expanded vocabulary
blocks  compositions cut into training blocks, packed for the GPU renderer
loop    one stage: batches, losses, schedule, checkpoints
"""
