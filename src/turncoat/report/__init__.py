"""The report of a race: one interactive HTML page, and every figure as PDF, SVG and PNG."""

from __future__ import annotations

from turncoat.report.frames import Frames
from turncoat.report.write import report

__all__ = ["Frames", "report"]
