"""Words and sentences of a text, in any language. Pure.

A word is folded: lower case, without accents, reduced to its stem where the language's stemmer is known. Scripts
written without blanks give one word a character. Function words are left out by short lists of our own, since the
usual ones hold "name", "bill" and "fire".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:[-.'’][^\W_{_UNSPACED}]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_APOSTROPHE = re.compile(r"^(?:[cdjlmnst]|qu)['’]")  # French and Italian articles: l'homme
_JOINT = re.compile(r"[-.'’]")
_TEMPLATE_TOKEN = re.compile(r"<(?=[|/]?\s*\|?\s*(?:im_|start|end|eos|bos|s>|think|tool))|<(?=\|)", re.IGNORECASE)

_FUNCTION_WORDS = {
    "en": """a about above after again all also am an and any anybody anyone anything are as at be became because become
        been before being between both but by can could did do does doing done during each ever every for from further
        get gets got had happen happened has have having he her here hers herself him himself his how i if in into is it
        its itself just let like many may me might mine more most much must my myself no nor not now of off on once only
        or other ought our ours out over own please really same say shall she should so some somebody someone something
        such tell than that the their theirs them themselves then there these they thing things this those through to
        too under until up upon us very was we were what when where which while who whom whose why will with without
        would yes you your yours yourself yourselves isn't don't doesn't didn't wasn't weren't won't wouldn't can't
        couldn't shouldn't haven't hasn't hadn't i'm you're he's she's it's we're they're i've you've we've they've
        i'd you'd i'll you'll what's who's where's when's how's why's that's there's let's""",
    "de": """aber als also am an ans auch auf aus bei beim bin bis bist da damit dann das dass dein deine deinem deinen
        deiner dem den denn der des dessen dich die dies diese dieser dieses dir doch dort du durch ein eine einem einen
        einer eines er es etwas euch euer eure für gab ganz gegen gibt hab habe haben hast hat hatte hatten hattest hier
        ich ihm ihn ihnen ihr ihre ihrem ihren im in ins ist ja jede jeder jedes kann kannst kein keine konnte können
        man mehr mein meine mich mir mit muss musste nach nein nicht nichts noch nur ob oder ohne sehr sein seine seinem
        seinen seiner seit sich sie sind so soll sollte über um und uns unser unter vom von vor war waren warst warum
        was wann wem wen wenn wer werden weshalb wessen wie wieso wieviel viele viel will wir wird wo woher wohin wozu
        wurde wurden wurdest worden zu zum zur zwischen ihnen bitte mal""",
    "fr": """à ai alors après as au aucun aussi autre aux avait avant avec avez avoir bien ce cela ces cet cette ceux
        chez comme comment dans de depuis des donc dont du elle elles en encore entre est et étaient était étiez êtes
        été être eu fait faire faites fut furent il ils je jusque la là le les leur leurs lors lui ma mais me même mes
        moi mon ne ni nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi qu quand que quel
        quelle quelles quels qui quoi sa sans se sera ses si son sont sous suis sur ta te tes toi ton tous tout toute
        toutes très tu un une vos votre vous y combien est-ce""",
    "es": """a al algo ante antes aquel aquella así aun aunque cada como cómo con contra cual cuál cuales cuando cuándo
        cuanto cuánto cuántos de del desde donde dónde dos durante e el él ella ellas ellos en entre era eran eras eres
        es esa ese eso esta está estaba este esto estos fue fueron fuiste ha había habían han has hasta hay he hizo la
        las le les lo los más me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque por
        qué que quién quien quiénes se ser si sí sido sin sobre son soy su sus también te tiene tienes todo tu tú tus
        un una uno unos usted ustedes y ya yo""",
    "zh": "的 了 是 在 和 与 或 也 都 就 而 及 之 其 这 那 哪 什 么 怎 样 为 吗 呢 吧 啊 你 您 我 他 她 它 们 谁 何 几 多 少 有 没 不 被 把 從 从 對 对 於 于 個 个 這 為 嗎 們 誰 幾 沒 會 会 曾 请 請 问 問",
    "ja": "の は が を に で と も か ら な い う え お く け こ し す た だ て り る れ ん あ っ ょ ま せ さ そ ど よ",
}
_STEMMERS = {
    "en": "english", "simple": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian",
    "pt": "portuguese", "nl": "dutch", "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish",
    "ru": "russian", "pl": "polish", "cs": "czech", "hu": "hungarian", "ro": "romanian", "tr": "turkish",
}  # fmt: skip


def content_words(text: str, language: str) -> list[str]:
    """Folded words in order, function words left out; a hyphenated one gives its parts and, joined, the whole."""
    dropped = _dropped(language)
    words: list[str] = []
    for found in _WORD.finditer(text.lower()):
        word = _APOSTROPHE.sub("", _POSSESSIVE.sub("", found.group()))
        if found.group() in dropped or word in dropped:
            continue
        parts = [part for part in _JOINT.split(word) if part]
        words += [fold(part, language) for part in parts if part not in dropped]
        if len(parts) > 1:
            words.append(fold("".join(parts), language))
    return [word for word in words if word]


@lru_cache(maxsize=100_000)
def fold(word: str, language: str) -> str:
    """The word's stem, lower case, without accents; a single Latin letter is nothing."""
    stem = _stem(word, language)
    plain = unaccented(stem)
    return "" if len(plain) == 1 and plain.isascii() and plain.isalpha() else plain


def unaccented(text: str) -> str:
    """Lower case, without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, in order, stripped, by Wikimedia's segmenter."""
    import sentencex

    parts = (part.strip() for line in text.splitlines() for part in sentencex.segment(language, line))
    return [part for part in parts if part]


def windows(parts: Sequence[str], size: int = 2) -> list[str]:
    """Each run of `size` neighboring sentences, joined; all of them where there are no more."""
    if len(parts) <= size:
        return [" ".join(parts)]
    return [" ".join(parts[i : i + size]) for i in range(len(parts) - size + 1)]


def harmless(text: str) -> str:
    """The text without what a chat template would read as its own marks, or a terminal as a command."""
    kept = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cs"})
    return _TEMPLATE_TOKEN.sub("‹", kept)


@lru_cache(maxsize=32)
def _dropped(language: str) -> frozenset[str]:
    return frozenset(_FUNCTION_WORDS.get(_base(language), "").split())


def _stem(word: str, language: str) -> str:
    algorithm = _STEMMERS.get(_base(language))
    if algorithm is None or not word.isalpha():
        return word
    return str(_stemmer(algorithm).stemWord(word))


@lru_cache(maxsize=32)
def _stemmer(algorithm: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - the package has no types
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm)


def _base(language: str) -> str:
    base = language.split("-", maxsplit=1)[0]
    return "en" if base == "simple" else base
