"""persona: interview anyone who has a Wikipedia page."""
