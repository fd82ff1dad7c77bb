"""Trees as flat arrays: validity, brackets, binarization."""
