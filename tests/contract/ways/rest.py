"""The way through REST over HTTP."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx

from maestro.operations.base import Operation
from maestro.testing.live import LiveServer
from ways.base import plain, rebuilt


class RestWay:
    """Calls operations over HTTP."""

    shows_as, is_out_at_once, offers_again = "delivered", False, True

    def __init__(self, live: LiveServer, client: httpx.AsyncClient) -> None:
        self.client = client
        self.person = live.token
        self.url = live.url

    async def call(self, operation: Operation, token: str, fields: dict[str, Any], key: str) -> Any:
        fields = {name: plain(value) for name, value in fields.items()}
        path = operation.http.path
        for name in operation.http.path_parameters:
            path = path.replace(f"{{{name}}}", quote(str(fields.pop(name)), safe=""))
        headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
        if operation.http.verb in ("GET", "DELETE"):
            answer = await self.client.request(operation.http.verb, self.url + path, params=fields, headers=headers)
        else:
            answer = await self.client.request(operation.http.verb, self.url + path, json=fields, headers=headers)
        body = answer.json()
        if answer.status_code != 200:
            raise rebuilt(body)
        return body
