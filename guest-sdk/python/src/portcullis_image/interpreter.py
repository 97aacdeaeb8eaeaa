"""Starts the interpreter of all plugins: what is loaded here, each of them has in its image. Run once for each version of the SDK, by
`portcullis build`, which then runs texts in it."""

from __future__ import annotations

import traceback

from . import begin, standard, use_up_holes

_ARCHIVE = "/0/standard.archive"
_TEXT = "/0/run.py"
# What was run stays where it is: freed, it would leave holes behind the image's arrangement.
_kept: list[object] = []

# Without the folder of the texts: a module of the author may have the name of one.
begin(_ARCHIVE, ["/python", "/world", "/1", standard.SDK, "/3", "/bundled"])

# componentize-py binds what is imported before the image is taken, and there is nothing else of it afterwards.
import wit_world.exports.completions  # noqa: E402
import wit_world.exports.prompts  # noqa: E402
import wit_world.exports.reconcile  # noqa: E402
import wit_world.exports.resources  # noqa: E402
import wit_world.imports.outgoing_handler  # noqa: E402
import wit_world.imports.streams  # noqa: E402
import wit_world.imports.wasi_http_types  # noqa: E402, F401
from componentize_py_types import Err  # noqa: E402
from portcullis_guest.exports import Completions, Prompts, Reconcile, Resources, Tools  # noqa: E402

from . import environment, files  # noqa: E402, F401

__all__ = ["Completions", "Prompts", "Reconcile", "Resources", "Tools", "WitWorld"]


class WitWorld:
    def run(self) -> None:
        """Runs the text that `portcullis build` has written."""
        try:
            with files.system_open(_TEXT) as file:
                code = compile(file.read(), _TEXT, "exec", dont_inherit=True)
            variables = {"__name__": "__main__"}
            _kept.extend((code, variables))
            exec(code, variables)
        # Also what ends a program.
        except BaseException as error:
            shown = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
            raise Err("".join(traceback.format_exception(shown)).rstrip()) from None


# What a run begins with then lies together.
use_up_holes()
