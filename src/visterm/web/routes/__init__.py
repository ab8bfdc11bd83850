"""The API's operations, one file a subject; each parses, asks the collection, and serializes."""

from visterm.web.routes.feedback import feedback_routes
from visterm.web.routes.jobs import job_routes
from visterm.web.routes.library import library_routes
from visterm.web.routes.pictures import picture_routes
from visterm.web.routes.search import search_routes

__all__ = ["feedback_routes", "job_routes", "library_routes", "picture_routes", "search_routes"]
