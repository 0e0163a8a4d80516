"""Exits with 0 when the application on this port answers /healthz under one of its own host names."""

import http.client
import os
import sys

host = os.environ["ALLOWED_HOSTS"].split(",")[0].strip().lstrip(".")
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=4)
connection.request("GET", "/healthz", headers={"Host": "localhost" if host == "*" else host})
sys.exit(connection.getresponse().status != http.HTTPStatus.OK)
