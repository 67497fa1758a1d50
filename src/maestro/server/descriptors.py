"""Refuses new connections while descriptors are left for the server's own files and programs."""

from __future__ import annotations

import resource

from maestro.core import errors, limits


def refusal(descriptor: int) -> errors.OutOfDescriptors | None:
    """Return why a new connection is refused, or None. The system gives each connection the lowest free number."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY or descriptor < most - limits.descriptors_reserved:
        return None
    return errors.OutOfDescriptors(hint=errors.DESCRIPTORS_HINT, data={"descriptors_max": most})
