"""The engine `hf`: a model of GLM-OCR's class, at full size, through transformers (needs the extra `glm`).

config          the sizes of such a model, and its configuration for transformers
pretrained      model, tokenizer and processor settings from a folder or a hub name, and back into one
prompt          prompt and answer as token ids, and what a sequence of ids says
image_settings  a block's picture as a model was trained on it
processor       a picture as patches and positions
network         patches and tokens -> hidden states
decoding        greedy decoding, many pictures together
engine          blocks -> readings
"""
