"""Trains a model on a parsed corpus.

In comes a `job.TrainingJob`: a configuration, the corpus' folders, word vectors. Out goes a model
folder: weights, metrics, a summary that marks it complete.

``train_views`` goes the whole way: it counts the corpus, has ``loop`` take the steps and leaves the
result. A step is ``learner``'s, and so is what is measured of held-out sentences; batches are
ordered and made ahead by ``batches``. ``folder`` keeps in step what ``checkpoints`` and ``logs``
write. ``launching`` (processes, threads, device) and ``machine`` (matrix products) set up what the
job says of the machine.
"""
