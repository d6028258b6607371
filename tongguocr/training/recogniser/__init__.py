"""The small recogniser: its network, its two kinds of training data, and the files that reading needs.

model       a vision encoder and a causal text decoder over the expanded vocabulary
losses      next token, dense and pointer loss of a batch; task: a run of them; validation: AR of a run
stage       the tables of its stage files
train_data  everything that a run on synthetic blocks reads, in one folder
recipe      what synthetic blocks are like; blocks: makes them; block_feed: in batches, by worker processes
labelled    data sets of labelled pages; pages: their samples (paper 3.3); page_feed: in batches, by epochs
export      the network as ONNX files; quantise: in 8 bits; restore: the network from these files again
"""
