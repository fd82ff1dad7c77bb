"""What is trained, said once: fields with their range and source, presets, views, who is held out.

In: a preset and changes. Out: one frozen `TrainingConfig`.
"""
