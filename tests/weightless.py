"""Entry points whose built-in model is a real child process of ours, found and shared as usual, but without weights."""

from __future__ import annotations

import sys

from persona.adapters.builtin import BuiltinServer


def use() -> None:
    """From now on the child of this process's BuiltinServers is tests.fake_builtin."""
    real = BuiltinServer._command

    def command(server: BuiltinServer) -> list[str]:
        return [word.replace("persona.adapters.builtin_child", "tests.fake_builtin") for word in real(server)]

    BuiltinServer._command = command  # type: ignore[method-assign]


if __name__ == "__main__":
    use()
    if sys.argv[1] == "app":
        from tests.bench.asking import main
    else:
        from persona.cli.app import main
    main()
