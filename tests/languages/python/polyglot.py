"""The plugin `polyglot` in Python, as ../README.md specifies it: the tools of each module."""

import asking  # noqa: F401
import doubt  # noqa: F401
import files_and_variables  # noqa: F401
import lasting  # noqa: F401
import leaving  # noqa: F401
import offers  # noqa: F401
import outside  # noqa: F401
import shapes  # noqa: F401
