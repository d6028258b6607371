"""The paper's own model at full size: GLM-OCR with an expanded vocabulary (needs the extra `glm`).

sizes       the published configuration, and smaller ones of the same class; fresh: such a model from nothing
foundation  model, tokenizer and picture settings from a folder or a hub name, and back into one
expand      the added characters and transitions, and the embedding rows that they get
wording     prompt, token ids, and what a sequence of them says
processor   a picture as the patches and positions that the model takes
samples     labelled pages as training samples (paper 3.3)
vision      a picture's patches as image tokens
network     the forward pass of training: the loss over the answer
generate    greedy reading, many pictures together; desk: what a step of it works with
lesson      what a batch says of it, for the trainer of `tongguocr.training`
train       the three stages; stage: their files; journal: what a run writes
manner      how a model wants to be shown pages
estimate    what a run needs, before it begins; plan: measured on its pages
sharegpt    the same samples as files for LLaMA-Factory
ablate      the paper's tables: one run a row
"""
