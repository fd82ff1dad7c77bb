"""``python -m treeviews`` is the command ``treeviews``."""

import sys

from treeviews.command import main

if __name__ == "__main__":
    sys.exit(main())
