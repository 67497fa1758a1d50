"""Refuse new connections before descriptors run out: the server needs the rest for its own files and programs."""

from __future__ import annotations

import resource

from maestro.core import errors, limits


def refuse_high_descriptor(descriptor: int) -> errors.OutOfDescriptors | None:
    """Return the error for a new connection whose descriptor is too high, or None.

    The system gives each connection the lowest free number.
    """
    descriptors_max, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if descriptors_max == resource.RLIM_INFINITY or descriptor < descriptors_max - limits.descriptors_reserved:
        return None
    return errors.OutOfDescriptors(hint=errors.DESCRIPTORS_HINT, data={"descriptors_max": descriptors_max})
