"""Nothing is left beside the sources."""

import sys

sys.dont_write_bytecode = True
