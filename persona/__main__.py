"""`python -m persona`, the same as the command `persona`."""

from persona.cli import main

main()
