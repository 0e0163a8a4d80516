"""Wiring: settings, addresses, the frame around every page, and the commands that join the rooms."""
