"""Training (needs the extra `train`): the small recogniser, its data and its stages.

model      a vision encoder and a causal text decoder over the expanded vocabulary
losses     what a batch says of it
run        what a run is given, and its optimisers; stage: files of these settings
blocks     compositions cut into training blocks, packed for the GPU renderer; feed: by worker processes
loop       a run on them (stage 0)
labelled   data sets of labelled pages, and which of them choose the checkpoint
pages      ... as samples, whole or in blocks; page_feed: in batches, epoch by epoch
epochs     a run on them (stages 1 to 3, fine-tuning)
judge      validation
journal    log and checkpoints; plot: the log as a picture
team       one process or several
export     the network as files for reading; quantise, stored: in 8 bits, and where each parameter lies
restore    ... and back
gather     the data of stage 0 in one folder
detector   the text detector, a package of its own
"""
