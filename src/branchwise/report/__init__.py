"""The interactive report of a result: one HTML file that works without a network."""

from .encoding import read_report
from .page import report_html, write_report

__all__ = ["read_report", "report_html", "write_report"]
