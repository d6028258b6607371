"""Training the paper's own model at full size: GLM-OCR with an expanded vocabulary (needs the extra `glm`).

expand        the added characters and transitions, and the embedding rows that they get
from_scratch  a model of the same class with random weights
samples       labelled pages as training samples (paper 3.3)
network       the losses of a batch
task          what a batch says of the model, and how well it reads
train         the three stages; stage: their files; checkpoint: what a run writes
estimate      what a run needs, before it begins; plan: measured on its pages
sharegpt      the same samples as files for LLaMA-Factory
ablate        the paper's tables: one run a row

What reads with such a model is in `tongguocr.engines.glm`.
"""
