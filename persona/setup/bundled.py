"""Where the files lie that come with the program: in the package as it was installed, or in the checkout it runs from."""

from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


def prompts() -> Path:
    """The folder of the prompts."""
    return _first(_PACKAGE / "_prompts", _PACKAGE.parent / "prompts")


def app() -> Path:
    """What Streamlit is told to run; its settings lie beside it, in `.streamlit`, where it looks for them."""
    return _first(_PACKAGE / "_app" / "app.py", _PACKAGE.parent / "app.py")


def server() -> Path:
    """What runs Streamlit."""
    return _PACKAGE / "ui" / "serve.py"


def _first(packaged: Path, checkout: Path) -> Path:
    return packaged if packaged.exists() else checkout
