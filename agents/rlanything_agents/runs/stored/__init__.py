"""Readers of stored runs. A run folder of unknown origin comes in; checked, bounded and printable values go out.

- `folder`: opens regular files below a folder and nothing else; `lines`: bounded lines of a gzip file.
- `episodes`: episodes of an iteration; `curves`: the curves of the metrics; `values`: checked single values.
"""
