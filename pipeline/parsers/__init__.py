"""What parses: the protocol, the folder format, and one package a library."""
