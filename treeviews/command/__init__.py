"""The command ``treeviews``: one file a subcommand."""
