"""The curation room for programs: the services and reads that the pages have, as JSON under /api/v1/.

request ─► token or session ─► role ─► serializer ─► one service or selector ─► serializer ─► JSON
                401             403       400             400, 404, 409
"""
