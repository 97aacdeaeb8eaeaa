"""`python -m portcullis_guest MODULE`: what a plugin offers, as JSON. `portcullis build` asks, before it makes a component."""

import importlib
import json
import sys

from .plugin import PLUGIN


def main() -> None:
    importlib.import_module(sys.argv[1])
    print(json.dumps(PLUGIN.exports))


main()
