"""The types that all interfaces share. componentize-py calls their module by its full name where another one is called `types`, too."""

try:
    from wit_world.imports.portcullis_plugin_types import *  # noqa: F403
except ImportError:
    from wit_world.imports.types import *  # noqa: F403
