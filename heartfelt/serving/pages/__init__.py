"""The page at `/`: a talk, and why it went so. Templates and static files lie here; nothing is fetched elsewhere."""

from fastapi import APIRouter

routes = APIRouter()
