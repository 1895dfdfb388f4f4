"""The figures of a report, one file each, and the axes, panels and maps that they are drawn with."""
