"""The demo model: scripted, offline, and plainly labelled as such."""

from agents.demo.transport import DEMO_HOST, DEMO_URL, DemoModel

__all__ = ["DEMO_HOST", "DEMO_URL", "DemoModel"]
