"""What a call is told of itself."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """What a call is told of itself: the type of a first parameter."""

    id: str = "test"
    principal: str = "local"
    correlation_id: str | None = None
    idempotency_key: str | None = None
    deadline_ms: int = 60_000
    traceparent: str | None = None
