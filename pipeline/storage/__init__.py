"""Shards where several machines reach them: a shared folder or an object store.

In: the folders of a stage's sentences and parses under the work folder, and an address, which is a
folder or a URL of `pyarrow.fs` (`location`). Out: the same files at the same place in the storage,
and those that other machines made, verified, in the work folder. A file is whole or absent, a shard
is there when its manifest is, and none is taken before stage, number, sentences and parser are
those wanted (`stage`). `shared_shards` has what a stage asks for, `stored_job` what another machine
does for it, `split_job` and `parse_job` how text is split and sentences are parsed there.
"""
