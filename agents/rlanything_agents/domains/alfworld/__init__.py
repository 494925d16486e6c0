"""ALFWorld as small models read and write it: words, transcripts, an expert, and ground truth for its steps."""
