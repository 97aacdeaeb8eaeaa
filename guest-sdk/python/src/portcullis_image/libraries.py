"""What the SDK uses of the standard library. Loaded first, so that nothing of it lies between the SDK's own objects."""

import dataclasses  # noqa: F401
import enum  # noqa: F401
import inspect  # noqa: F401
import json  # noqa: F401
import random  # noqa: F401
import re  # noqa: F401
import traceback  # noqa: F401
import typing  # noqa: F401
import urllib.parse  # noqa: F401
