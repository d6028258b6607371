"""The engine `hf`: GLM-OCR's class at full size, its pictures, prompt and decoding."""
