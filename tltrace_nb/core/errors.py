"""What can go wrong, as exceptions that say what, where and what to do.

In: nothing. Out: exception classes; every message names the kernel and, where there is one, ``file:line``.
"""

from __future__ import annotations


class TraceError(Exception):
    """Base of all errors of this package."""


class MarkerError(TraceError, ValueError):
    """A marker is malformed or stands where no marker can stand."""


class TokenError(MarkerError):
    """A range token is foreign, used twice, or its range is never ended."""


class PayloadError(TraceError, TypeError, ValueError):
    """A payload does not fit 32 bits, or cannot be read where its marker records."""


class PlacementError(MarkerError):
    """A marker cannot be kept in place through TileLang's scheduler."""


class CapacityError(TraceError, MemoryError):
    """The slots would exceed the memory budget."""


class SlotsError(TraceError, ValueError):
    """A slots tensor does not belong to the kernel it is decoded with."""


class NotTracedError(TraceError, ValueError):
    """The kernel given was built without tracing."""


class DeviceError(TraceError, RuntimeError):
    """A traced kernel is to run where it cannot."""


class VersionError(TraceError, RuntimeError):
    """TileLang's pass pipeline is not the one that this library knows."""
