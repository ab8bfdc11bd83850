"""The page and its API: a collection searched, shown and trained in a browser.

Importing this room loads nothing; FastAPI and uvicorn come with `visterm.web.app`, when serving.
"""
