"""The rubric reward inside MS-Swift's trainer: no Django, and the same parser and aggregation as everywhere.

What it needs beside MS-Swift is aiohttp and orjson, and this repository on the Python path.
"""
