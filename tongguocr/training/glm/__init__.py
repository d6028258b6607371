"""Training the paper's own model at full size: GLM-OCR with an expanded vocabulary (needs the extra `glm`).

expand        the added characters and transitions, and the embedding rows that they get
from_scratch  a model of the same class with random weights, to be trained from nothing
samples       labelled pages as training samples (paper 3.3)
network       the losses of a batch
task          the loss of a batch and validation, for the training loop
train         the three stages; stage: their files; trainer: the model in training, and how it is saved
estimate      what a run needs, before it begins
sharegpt      the same samples as files for LLaMA-Factory

What reads with such a model is in `tongguocr.engines.glm`.
"""
