"""The command `persona`: what a reader types becomes calls of the core, and what comes back becomes text or JSON.

`app` holds the commands and their options, `session` what they share, `output` all that is written; the others are a
command or two each. Only typer and rich are imported before a command runs.
"""

from persona.cli.app import main

__all__ = ["main"]
