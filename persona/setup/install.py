"""The installer's entry: `python -I persona/setup/install.py [EXTRA…] [--venv DIR]`, on every system, from any folder.

Holds nothing that an old Python could not read, so that it can say so itself. Knows nothing of how installing goes.
"""

import os
import sys

OLDEST = (3, 11)


def main() -> int:
    """Install, and give the exit code: 0 done, 1 an error said in a sentence, 130 after Ctrl-C."""
    if sys.version_info < OLDEST:
        this = ".".join(map(str, sys.version_info[:3]))
        sys.stderr.write(
            "persona needs Python 3.11 or newer, and this is " + this + " (" + sys.executable + "). "
            "Name a newer one, as in: make PYTHON=python3.12 run\n"
        )
        return 1
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    from persona.setup.steps import main as install

    return install(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
