"""Language models: a `CheckpointConfig` or the sizes of a small model go in, a transformers model comes out, with its
tokenizer and chat template.

- ``checkpoint``: names of checkpoints, and the conversion of GGUF files; ``precision``: float32 or bfloat16 weights;
- ``small``: folders of small models made on the spot, with a tokenizer of one token per word;
- ``pretrained``: loading of a checkpoint, LoRA adapters, weights to a folder and back;
- ``image_reader``: images as tokens and patches, of models that see;
- ``template``: chats rendered turn by turn to token ids, with special tokens in untrusted text escaped;
- ``master_weights``: AdamW on fp32 master weights of a bfloat16 model.
"""
