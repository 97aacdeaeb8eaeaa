"""The extension `dev.portcullis/steering`: a word to a call that is already running."""

from typing import Any, Literal

import mcp_types as types
from mcp import Client, ClientSession
from pydantic import BaseModel


class _SteerParams(types.RequestParams):
    message: str
    call: str | None = None
    correlation_id: str | None = None
    seq: int | None = None
    end: bool | None = None


class _SteerRequest(types.Request[_SteerParams, Literal["dev.portcullis/steer"]]):
    method: Literal["dev.portcullis/steer"] = "dev.portcullis/steer"


class _SteerResult(BaseModel):
    call: str


async def steer(
    client: Client | ClientSession,
    message: str = "",
    *,
    call: str | None = None,
    correlation_id: str | None = None,
    seq: int | None = None,
    end: bool | None = None,
) -> str:
    """Puts `message` into the queue of a running call and returns the call's id.

    Without `call` and `correlation_id` it is for the one call that is running. `call` is what `Chunk.call` says,
    `correlation_id` the mark in `_meta["dev.portcullis/correlationId"]` of the call's own request.

    `seq` numbers the messages to a call from 0 on: one that is sent again is taken once. With `end`, nothing comes after
    this message, which may be empty then.

    Raises:
        mcp.MCPError: No such call is running, several are (`error.data["running"]` lists them), its queue is full, or
            a message is missing (`error.data["next"]` is its number).
    """
    session = client.session if isinstance(client, Client) else client
    params = _SteerParams(message=message, call=call, correlation_id=correlation_id, seq=seq, end=end)
    steered: Any = await session.send_request(_SteerRequest(params=params), _SteerResult)
    return str(steered.call)
