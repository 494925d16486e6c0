"""Engines that generate text with a trained model: prompts as token ids go in; token ids, text and log-probabilities
come out, in the order of the prompts. New weights go in by `update_weights`.

- ``open``: opens the engine of a configuration; ``chat``: renders chats for any engine;
- ``transformers``: samples from the trained module in this process, with ``cache`` (key-value cache of rows of any
  length), ``batching`` (batches by length, shared prefixes) and ``sampling`` (random streams, top-k, top-p);
- ``choices``: forms of answers over token ids, for constrained decoding;
- ``vllm``: vLLM in this process; ``vllm_server``: a vLLM server that this process also gives its weights;
  ``vllm_client``: a server that another process gives its weights; ``controls``: requests to a server besides prompts;
- ``tinker``: the Tinker service, which samples from adapters and trains them;
- ``handover``: check of an engine's log-probabilities after a hand-over of weights; ``vllm_worker``: what loads them in
  vLLM's worker on processors; ``vllm_watch``: death of an engine's process;
- ``completions``: checks of the ids and log-probabilities that an engine returns;
- ``weights``: folders of weights for an engine, in ``shared_memory`` or on the disk;
- ``scheduler``: GPU memory of the engines in each phase of an iteration.
"""
