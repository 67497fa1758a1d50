"""The installed uvicorn has all internals that Maestro overrides or reads; a failure names the missing internal."""

from __future__ import annotations

import asyncio
import importlib.metadata
import inspect
import re
import tomllib
from pathlib import Path

import pytest
import uvicorn
from uvicorn.protocols.http import flow_control, httptools_impl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from maestro.server.http import _StoppableUvicorn
from maestro.server.http_protocol import BoundedProtocol
from maestro.server.joined_writes import JoinedWrites

PROJECT = Path(__file__).parents[3] / "pyproject.toml"
OVERRIDDEN = {
    BoundedProtocol: (
        HttpToolsProtocol,
        {
            "connection_lost",
            "connection_made",
            "data_received",
            "eof_received",
            "on_body",
            "on_headers_complete",
            "on_message_complete",
            "send_400_response",
        },
    ),
    _StoppableUvicorn: (uvicorn.Server, {"capture_signals", "main_loop", "shutdown"}),
}
PROTOCOL_ATTRIBUTES = ("cycle", "flow", "loop", "scope", "transport")
CYCLE_ATTRIBUTES = ("body", "disconnected", "message_event", "response_complete")
TRANSPORT_METHODS = {"abort", "close", "get_extra_info", "is_closing", "pause_reading", "resume_reading", "write"}


@pytest.mark.parametrize("ours", OVERRIDDEN, ids=lambda ours: ours.__name__)
def test_the_overridden_methods_of_uvicorn_exist_with_the_same_parameters(ours: type) -> None:
    theirs, names = OVERRIDDEN[ours]
    missing = sorted(name for name in names if not hasattr(theirs, name))
    assert not missing, f"uvicorn has no {theirs.__name__}.{missing} any more"
    for name in names:
        parameters = [list(inspect.signature(getattr(kind, name)).parameters) for kind in (ours, theirs)]
        assert parameters[0] == parameters[1], f"uvicorn has changed {theirs.__name__}.{name}"


@pytest.mark.parametrize("ours", OVERRIDDEN, ids=lambda ours: ours.__name__)
def test_the_list_of_overridden_methods_is_complete(ours: type) -> None:
    theirs, names = OVERRIDDEN[ours]
    found = {name for name in vars(ours) if hasattr(theirs, name) and not name.startswith("__")}
    assert found == names, "uvicorn has a new attribute with the name of a method, or OVERRIDDEN is not complete"


async def test_uvicorn_has_all_attributes_that_maestro_reads() -> None:
    config = uvicorn.Config("nothing:app", log_config=None, ws="none")
    config.load_app = lambda: None  # type: ignore[assignment, method-assign, return-value]
    protocol = HttpToolsProtocol(config, ServerState(), {}, asyncio.get_running_loop())
    for name in PROTOCOL_ATTRIBUTES:
        assert hasattr(protocol, name), f"uvicorn's HttpToolsProtocol has no {name} any more"
    values = dict.fromkeys(inspect.signature(RequestResponseCycle).parameters)
    cycle = RequestResponseCycle(**values)  # type: ignore[arg-type]
    for name in CYCLE_ATTRIBUTES:
        assert hasattr(cycle, name), f"uvicorn's RequestResponseCycle has no {name} any more"
    assert hasattr(flow_control.FlowControl, "resume_reading")
    assert hasattr(ServerState(), "connections")
    assert hasattr(uvicorn.Server, "on_tick")


async def test_uvicorn_calls_only_the_methods_of_a_transport_that_joined_writes_passes_on() -> None:
    source = inspect.getsource(httptools_impl) + inspect.getsource(flow_control)
    called = set(re.findall(r"transport\.(\w+)\(", source)) - {"set_protocol"}  # only for web sockets, which are off
    assert called <= TRANSPORT_METHODS, "uvicorn calls a method that JoinedWrites does not pass on"
    transport = JoinedWrites(asyncio.Transport(), asyncio.get_running_loop())
    assert {
        name for name in TRANSPORT_METHODS if name in {*vars(transport), *vars(JoinedWrites)}
    } == TRANSPORT_METHODS


def test_the_installed_version_of_uvicorn_is_within_the_tested_bounds() -> None:
    dependencies = tomllib.loads(PROJECT.read_text())["project"]["dependencies"]
    bounds = next(found for text in dependencies if (found := re.fullmatch(r"uvicorn>=([\d.]+),<([\d.]+)", text)))
    low, high = (tuple(map(int, bound.split("."))) for bound in bounds.groups())
    installed = tuple(map(int, importlib.metadata.version("uvicorn").split(".")[:2]))
    assert low <= installed < high, "run these tests with the new version, then change the bounds in pyproject.toml"
    assert high == (low[0], low[1] + 1), "only one minor version is tested"
