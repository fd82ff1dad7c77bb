"""How fast Treeviews is, measured beside what it is compared with; each module is a command."""
