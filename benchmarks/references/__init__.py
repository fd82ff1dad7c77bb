"""What the encoders are measured against: the same equations, computed as others do it.

Each is a module made for one batch of sentences, whose order of computation it prepares once.
"""
