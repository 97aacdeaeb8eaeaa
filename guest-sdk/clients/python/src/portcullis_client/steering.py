"""The extension `dev.portcullis/steering`: a word to a call that is already running."""

from typing import Any, Literal

import mcp_types as types
from mcp import Client, ClientSession
from pydantic import BaseModel


class _SteerParams(types.RequestParams):
    message: str
    call: str | None = None
    correlation_id: str | None = None


class _SteerRequest(types.Request[_SteerParams, Literal["dev.portcullis/steer"]]):
    method: Literal["dev.portcullis/steer"] = "dev.portcullis/steer"


class _SteerResult(BaseModel):
    call: str


async def steer(
    client: Client | ClientSession, message: str, *, call: str | None = None, correlation_id: str | None = None
) -> str:
    """Puts `message` into the queue of a running call and returns the call's id.

    Without `call` and `correlation_id` it is for the one call that is running. `call` is what `Chunk.call` says,
    `correlation_id` the mark in `_meta["dev.portcullis/correlationId"]` of the call's own request.

    Raises:
        mcp.MCPError: No such call is running, several are (`error.data["running"]` lists them), or its queue is full.
    """
    session = client.session if isinstance(client, Client) else client
    params = _SteerParams(message=message, call=call, correlation_id=correlation_id)
    steered: Any = await session.send_request(_SteerRequest(params=params), _SteerResult)
    return str(steered.call)
