"""Training of supar's biaffine dependency model: CoNLL-U files to what epochs train on."""
