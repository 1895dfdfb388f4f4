"""Pictures of a race: one page to look around in, and every figure as PDF, SVG and PNG."""

from __future__ import annotations

from turncoat.report.frames import Frames
from turncoat.report.outcome import frames_of
from turncoat.report.write import report

__all__ = ["Frames", "frames_of", "report"]
