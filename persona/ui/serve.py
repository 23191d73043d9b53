"""Streamlit's own command, run as a file: `python serve.py run SCRIPT`. Ends without a word after Ctrl-C."""

import sys

from click import Abort, ClickException
from streamlit.web.cli import main

if __name__ == "__main__":
    try:
        main(prog_name="streamlit", standalone_mode=False)
    except (Abort, KeyboardInterrupt):
        sys.exit(130)
    except ClickException as error:
        error.show()
        sys.exit(error.exit_code)
