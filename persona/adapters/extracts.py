"""The plain text that MediaWiki's TextExtracts gives of a page becomes headings with their text.

Knows that extension's format (`== Heading ==`, a paragraph a line) and mends what it leaves behind: formulas written
twice, sentences run together where a footnote stood, brackets emptied of their templates. Does not know the API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from persona.adapters.sections import Block, tidy

_HEADING = re.compile(r"^ *(={1,6}) (.*?) \1 *$", re.MULTILINE)

# Each rendered formula stands first as indented lines of single symbols, then as TeX within these braces.
_TEX_START = re.compile(r"\{\\(?:display|text|script)style ?")
_TEX_END = re.compile(r"(?:(?:\n[ \t]{2,}(?=\n|$))+(?:\n(?=[ \t]?[^\s=]))?)?")
_FRACTION = re.compile(r"\\[dtc]?frac ?\{([^{}]*)\} ?\{([^{}]*)\}")
_ROOT = re.compile(r"\\sqrt ?\{([^{}]*)\}")
_STYLED = re.compile(
    r"\\(?:text|math\w*|operatorname|boldsymbol|overline|underline|bar|hat|vec|tilde|dot) ?\{([^{}]*)\}"
)
_RAISED = re.compile(r"([\^_])\{([^{}]*)\}")
_BRACES = re.compile(r"\{([^{}]*)\}")
_SYMBOLS = {
    "times": "×", "cdot": "·", "pm": "±", "div": "÷", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠",
    "ne": "≠", "approx": "≈", "sim": "~", "equiv": "≡", "propto": "∝", "infty": "∞", "partial": "∂", "nabla": "∇",
    "sum": "∑", "prod": "∏", "int": "∫", "to": "→", "rightarrow": "→", "leftarrow": "←", "in": "∈", "sqrt": "√",
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "φ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "hbar": "ħ",
    "ldots": "…", "dots": "…", "cdots": "…", "circ": "°", "prime": "′", "left": "", "right": "", "quad": " ",
    "qquad": " ", "displaystyle": "", "textstyle": "", "limits": "", "big": "", "Big": "",
}  # fmt: skip

# What stands before and after a full stop without a blank; `_apart` decides.
_RUN_TOGETHER = re.compile(
    r"(?P<before>(?<![^\W\d_])[^\W\d_]{2,}+|(?<!\d)\d++|[)\]»”\"])(?P<mark>[.!?])(?=(?P<after>[^\W\d_][\w’']*+)(?!\.\w))"
)
_ADDRESS = re.compile(r"://|^www\.|@|/|\\", re.IGNORECASE)
# What removed notes and templates leave: marks in brackets, pages cited (`.":54–57`), brackets without content.
_LEFTOVERS = (
    (
        re.compile(
            r" ?\[(?:\d{1,3}|(?:note|nb|n|anm\.) ?\d+|[a-z ]*citations? needed|(?:better|reliable|additional) source needed|"
            r"(?:clarification|verification|page|quote) needed|failed verification|improper synthesis\?|original research\?|"
            r"unreliable source\?|dubious – discuss|disputed – discuss|(?:(?:according to|by|to|for) whom|who|when|where|"
            r"which|why|how)\?)\]",
            re.IGNORECASE,
        ),
        "",
    ),
    (re.compile(r"(?<=[.,;!?)\"”’\]])(?: ?:\d{1,4}(?:[–-]\d{1,4})?(?:, ?\d{1,4}(?:[–-]\d{1,4})?)*)+(?=[\s,.;]|$)"), ""),
    (re.compile(r" \(\s*\)|（\s*）"), ""),
    (re.compile(r"([(（])\s*(?:[;,；，]\s*)+"), r"\1"),
    (re.compile(r"(?<=[(（]) +| +(?=[)）])"), ""),
    (re.compile(r"[,;] ?(?=;)|^[.,;:] +", re.MULTILINE), ""),
)
_STRAY_BLANK = re.compile(r"(?<=[\w)”\"’']) +(?=[.,](?:\s|$))")


def read_blocks(extract: str) -> list[Block]:
    """The lead (level 0, maybe empty) and every heading with its own text, mended, in order."""
    text = mend_formulas(extract.replace("\r\n", "\n"))
    blocks, level, title, start = [], 0, "", 0
    for heading in _HEADING.finditer(text):
        blocks.append(Block(level, title, mend(text[start : heading.start()])))
        level, title, start = len(heading[1]), mend(heading[2]), heading.end()
    return [*blocks, Block(level, title, mend(text[start:]))]


def mend(text: str) -> str:
    """Whitespace tidied, leftovers of notes and templates removed, sentences that ran together parted."""
    text = tidy(text)
    for pattern, replacement in _LEFTOVERS:
        text = pattern.sub(replacement, text)
    text = _STRAY_BLANK.sub("", text)
    return "\n".join(" ".join(_part(word) for word in line.split(" ")) for line in text.split("\n"))


def _part(word: str) -> str:
    """`Kenobi.Luke` is two sentences that a footnote stood between; addresses are left alone."""
    return word if _ADDRESS.search(word) else _RUN_TOGETHER.sub(lambda m: m[0] + " " * _apart(m), word)


def _apart(match: re.Match[str]) -> bool:
    """Whether a sentence ends here: a word in small letters (a number, a bracket), then a capitalized word.

    Initials and abbreviations (U.S.A, Ph.D, e.g., p.m.), decimals and names such as Node.JS fail one of the two.
    """
    before, after = match["before"], match["after"]
    ended = not before.isalpha() or before[-2:].islower() or (len(before) > 1 and before.isupper() and len(after) > 1)
    return ended and (after[0].isupper() and (after[1:2].islower() or after[1:2] in {"’", "'"} or after in {"A", "I"}))


def mend_formulas(text: str) -> str:
    """Each formula once, as a reader would type it: `E=mc^2`, `(a+b)/c`."""
    return "".join(_formulas(text))


def _formulas(text: str) -> Iterator[str]:
    position = 0
    while start := _TEX_START.search(text, position):
        end = _closing(text, start.end())
        if end < 0:
            break
        before = _without_symbols(text[position : start.start()])
        yield before + " " * bool(before[-1:].strip())
        yield readable_tex(text[start.end() : end])
        rest = _TEX_END.match(text, end + 1)
        position = rest.end() if rest else end + 1
        yield " " * text[position : position + 1].isalnum()
    yield text[position:]


def _without_symbols(text: str) -> str:
    """Text before a formula without the indented lines, a symbol each, that render the same formula."""
    lines = text.split("\n")
    while len(lines) > 1 and lines[-1].startswith("  "):
        lines.pop()
    return "\n".join(lines)


def _closing(text: str, start: int) -> int:
    """Where the brace opened before `start` closes, else -1."""
    depth = 1
    for position in range(start, min(len(text), start + 5000)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return -1


def readable_tex(tex: str) -> str:
    """TeX without its commands: symbols as characters, fractions by a slash."""
    before = ""
    while tex != before:
        before = tex
        tex = _FRACTION.sub(lambda m: f"{_grouped(m[1])}/{_grouped(m[2])}", tex)
        tex = _ROOT.sub(lambda m: f"√{_grouped(m[1])}", tex)
        tex = _STYLED.sub(r"\1", tex)
        tex = _RAISED.sub(lambda m: m[1] + _grouped(m[2]), tex)
    while _BRACES.search(tex):
        tex = _BRACES.sub(r"\1", tex)
    tex = re.sub(r"\\([A-Za-z]+) ?", lambda m: _SYMBOLS.get(m[1], m[1] + " "), tex)
    return " ".join(re.sub(r"\\([^A-Za-z])", lambda m: " " if m[1] in ",;:! \\" else m[1], tex).split())


def _grouped(part: str) -> str:
    part = part.strip()
    return part if re.fullmatch(r"[\w.′]*|\\[A-Za-z]+", part) else f"({part})"
