"""A measured figure, its bar, and its printed line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A measured value, usually a ratio, with its bar."""

    what: str
    value: float
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""
    unit: str = "×"

    @property
    def met(self) -> bool:
        return (self.at_most is None or self.value <= self.at_most) and (
            self.at_least is None or self.value >= self.at_least
        )

    def line(self) -> str:
        bar = f"at most {self.at_most:g}" if self.at_most is not None else f"at least {self.at_least:g}"
        mark = "ok  " if self.met else "MISS"
        note = f"   ({self.note})" if self.note else ""
        return f"{mark}  {self.value:8.2f}{self.unit}  (bar: {bar}{self.unit})  {self.what}{note}"
