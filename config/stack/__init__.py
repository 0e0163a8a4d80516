"""Environments and services for one machine: an embedded Postgres and broker, a small real model, the demo.

Knows nothing of Django. Run it as `python -m config.stack`.
"""
