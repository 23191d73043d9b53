"""A small package index on loopback, tiny wheels for it, and a small project that is installed from it by the real installer."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import distribution
from pathlib import Path

from tests.loopback import Exchange, LoopbackServer

ROOT = Path(__file__).parents[1]
_BACKEND = '''"""Builds the tiny project: a wheel that points at its folder."""
import os, zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "tiny-1.0-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as wheel:
        wheel.writestr("tiny.pth", os.getcwd())
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    return name
'''
_PYPROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "tiny"
version = "1.0"
"""


def wheel(name: str, version: str, requires: Iterable[str] = (), extra: str = "", size: int = 0) -> bytes:
    """A pure package; `requires` are its own needs, or those of the extra. `size` bytes that no zip makes smaller lie in it."""
    needs = "".join(f"Requires-Dist: {need}{f'; extra == {extra!r}' if extra else ''}\n" for need in requires)
    provides = f"Provides-Extra: {extra}\n" if extra else ""
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{provides}{needs}"
    files = {f"{name}/__init__.py": f"version = {version!r}\n".encode(), f"{name}/data": os.urandom(size)}
    return _packed(name, version, files, {"METADATA": metadata.encode()})


def pip_wheel() -> tuple[str, bytes]:
    """The pip of this environment, packed again, and its version."""
    pip = distribution("pip")
    paths = [path for path in pip.files or () if path.parts[0] == "pip" and path.suffix != ".pyc"]
    files = {path.as_posix(): path.read_binary() for path in paths}
    return pip.version, _packed("pip", pip.version, files, {"METADATA": (pip.read_text("METADATA") or "").encode()})


def _packed(name: str, version: str, files: Mapping[str, bytes], info: Mapping[str, bytes]) -> bytes:
    about = f"{name}-{version}.dist-info"
    kind = b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    every = {**files, **{f"{about}/{file}": data for file, data in info.items()}, f"{about}/WHEEL": kind}
    record = "".join(f"{path},sha256={_record_digest(data)},{len(data)}\n" for path, data in every.items())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, data in {**every, f"{about}/RECORD": f"{record}{about}/RECORD,,\n".encode()}.items():
            archive.writestr(path, data)
    return packed.getvalue()


def _record_digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


class PackageIndex(LoopbackServer):
    """Serves what was put into it. A handler in `instead`, by file name, answers in the file's place."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, bytes] = {}
        self.instead: dict[str, Callable[[Exchange, bytes], None]] = {}
        self.put("pip", *pip_wheel())

    def put(self, name: str, version: str, data: bytes) -> None:
        """Publish a wheel."""
        file = f"{name}-{version}-py3-none-any.whl"
        self.files[file] = data
        self.routes[f"GET /simple/{name}/"] = lambda exchange: exchange.text(200, self._page(name), "text/html")
        self.routes[f"GET /files/{file}"] = lambda exchange: self._file(exchange, file)

    def pinned(self, *pins: str) -> str:
        """A lock with these pins, NAME==VERSION or NAME[EXTRA]==VERSION, with the hash of each."""
        return "".join(f"{pin} \\\n    --hash=sha256:{self._digest(pin)}\n" for pin in pins)

    @property
    def fetched(self) -> list[str]:
        """The wheels that were asked for, in order, since this was last read."""
        asked = [request.path.removeprefix("/files/") for request in self.received if "/files/" in request.path]
        self.received.clear()
        return asked

    def _digest(self, pin: str) -> str:
        name, version = pin.split("==")
        return hashlib.sha256(self.files[f"{name.split('[')[0]}-{version}-py3-none-any.whl"]).hexdigest()

    def _page(self, name: str) -> str:
        links = (f'<a href="/files/{file}">{file}</a>' for file in self.files if file.startswith(f"{name}-"))
        return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"

    def _file(self, exchange: Exchange, file: str) -> None:
        answer = self.instead.get(file)
        if answer:
            answer(exchange, self.files[file])
        else:
            exchange.data(200, self.files[file], "application/octet-stream")


class Project:
    """A small project in a folder of its own, with the real Makefile and the real installer."""

    def __init__(self, folder: Path, index: PackageIndex) -> None:
        self.folder, self.index = folder / "project", index
        self.venv = self.folder / ".venv"
        shutil.copytree(ROOT / "persona" / "setup", self.folder / "persona" / "setup")
        shutil.copy(ROOT / "persona" / "__init__.py", self.folder / "persona")
        shutil.copy(ROOT / "Makefile", self.folder)
        (self.folder / "backend.py").write_text(_BACKEND)
        (self.folder / "pyproject.toml").write_text(_PYPROJECT)
        # what make was told for these tests (where to install, what besides) must not reach the project's make
        ours = ("PIP_", "PERSONA_", "MAKE", "MFLAGS", "VENV", "EXTRAS", "PYTHON")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        self.environment = kept | {
            "PIP_INDEX_URL": f"{index.address}/simple/",
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_CACHE_DIR": str(folder / "cache"),
            "PIP_RESUME_RETRIES": "1",
            "PIP_NO_COMPILE": "1",
            "PERSONA_HOME": str(folder / "home"),
        }

    def lock(self, *pins: str, extra: str = "") -> None:
        """Write a lock with these pins; the first one begins with pip."""
        pins = pins if extra else (f"pip=={distribution('pip').version}", *pins)
        (self.folder / f"requirements{'-' if extra else ''}{extra}.lock").write_text(self.index.pinned(*pins))

    def make(self, *words: str, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        """`make WORDS`, to its end."""
        return self._run(["make", "--no-print-directory", f"PYTHON={sys.executable}", *words], timeout)

    def install(self, *words: str, python: Path | str = sys.executable, before: Iterable[str] = ()) -> tuple[int, str]:
        """The installer itself, to its end: the exit code, and what it said."""
        done = self._run([*before, *self.command(*words, python=python)], 300)
        return done.returncode, done.stdout + done.stderr

    def start(self, *words: str) -> subprocess.Popen[str]:
        """The installer, in a process group of its own."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.command(*words), env=self.environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
        )

    def command(self, *words: str, python: Path | str = sys.executable) -> list[str]:
        """What a user without make types."""
        return [str(python), "-I", str(self.folder / "persona" / "setup" / "install.py"), *words]

    def versions(self) -> dict[str, str]:
        """What lies in the environment, without pip."""
        infos = self.venv.glob("lib/python*/site-packages/*.dist-info")
        found = dict(info.name.removesuffix(".dist-info").split("-") for info in infos)
        return {name: version for name, version in found.items() if name not in ("pip", "setuptools")}

    def _run(self, words: list[str], timeout: float) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, check=False, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=timeout
        )


def press_ctrl_c(process: subprocess.Popen[str]) -> None:
    """As a terminal does: everything that runs in it is told."""
    os.killpg(process.pid, signal.SIGINT)
