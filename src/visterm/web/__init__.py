"""The page and its API: a collection searched, shown and trained in a browser.

Importing this package loads nothing; FastAPI and uvicorn come with `visterm.web.app`, when serving.
"""
