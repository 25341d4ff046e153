"""From slots to frames: what a traced kernel leaves behind, and what it means. It knows no kernel and no view."""
