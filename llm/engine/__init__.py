"""Durable execution of model work.

The guarantee: a finished call is never paid for twice, and a killed worker loses nothing but the calls in
flight. `steps` says what a piece of work looks like, `queue` keeps the items in Postgres, `gate` bounds and
holds back calls, `chat` stores each call before its step sees it, `worker` drives one run in one process.
"""
