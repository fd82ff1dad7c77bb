"""Trains a model on a parsed corpus.

In comes a `training_job.TrainingJob`: a configuration, the corpus' folders, word vectors. Out goes
a model folder: weights, metrics, a summary that marks it complete.

``train_views`` goes the whole way: it counts the corpus, has ``training_loop`` take the steps and
leaves the result. A step is ``learner``'s, and so is what is measured of held-out sentences;
batches are ordered and made ahead by ``batches``. ``checkpoints`` keeps metrics and checkpoints in
step. ``launching`` (processes, threads, device) and ``numerics`` (matrix products) set up what the
job says of the machine.
"""
