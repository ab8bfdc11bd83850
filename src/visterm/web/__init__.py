"""The page and its API: a collection searched, looked at and taught in a browser.

Importing this room loads nothing; FastAPI and uvicorn come with `visterm.web.app`, when serving.
"""
