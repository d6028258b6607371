"""Training the text detector: pages made while training in, a small network for ONNX Runtime out.

model       the network
real_pages  real pages with character boxes: reader, packed file, their links and kinds
pictures    what is no text: illustrations, and tables with rulers, labels and colour charts
seals       owners' seals, which are no text either
placing     pages put together on one window, and the labels of their characters
windows     windows of composed pages, real lines and real pages, packed by worker processes
paint       ... as images and labels, on the device
targets     labels as maps, and the losses
validation  on faces, texts and pages that training never sees
feed        batches by worker processes; task: a run
stage       the tables of its stage files
export      the network as an ONNX file
"""
