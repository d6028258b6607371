"""Training (needs the extra `train`): all that makes models, and nothing that reads a page needs.

loop         the one loop: a task (network, loss, validation, saving), batches, limits, checkpoints
run          what a run is given: its limits and rates; optimisers: one step of it
checkpoint   log.jsonl and resume.pt; plot: logs as a picture
distributed  one process or several
workers      processes that make batches
stage        stage files (stages/*.toml) of every network; settings: their tables
datasets     labelled pages of published data sets
synth        synthetic pages
recogniser   the small recogniser: stages 0 to 3, fine-tuning, export
detector     the text detector
glm          the paper's own model at full size
"""
