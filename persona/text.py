"""Words and sentences of a text, in any language. Pure.

A word is folded: lower case, without accents, reduced to its stem where the language's stemmer is known. Scripts
written without blanks, and Korean with its endings, give pairs of neighboring characters, as Lucene's CJKAnalyzer does:
single characters are shared by unrelated texts. Function words are left out by short lists of our own, since the usual
ones hold "name", "bill" and "fire".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import dropwhile
from threading import Lock

_UNSPACED = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u0e00-\u0e7f\uac00-\ud7af"
_PAIRED = re.compile(rf"[{_UNSPACED}]+")
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W_{_UNSPACED}]+(?:[-.'’][^\W_{_UNSPACED}]+)*")
_POSSESSIVE = re.compile(r"['’]s?$")
_APOSTROPHE = re.compile(r"^(?:[cdjlmnst]|qu)['’]")  # French and Italian articles: l'homme
_JOINT = re.compile(r"[-.'’]")
_UNHYPHENED = re.compile(r"(?:[a-z]+\d+){2,}")  # R2D2, which others write R2 D2
_TEMPLATE_TOKEN = re.compile(
    r"<(?=/?\s*(?:im_|start|end|eos|bos|unk>|pad>|mask>|s>|think|tool|\|?\s*im_)|[|｜]|<\s*/?SYS)|\[(?=/?\s*(?:INST|SYSTEM_PROMPT|TOOL|AVAILABLE_TOOLS))",
    re.IGNORECASE,
)

_FENCE = re.compile(r'"{3,}')  # prompts quote the page between three of them
_UNSTORABLE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_LONGEST_PARAGRAPH = 5000  # characters

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
        i'd you'd he'd she'd we'd they'd i'll you'll he'll she'll we'll they'll what's who's where's when's how's why's that's
        there's let's aren't dont doesnt didnt wasnt werent wont wouldnt cant couldnt shouldnt havent hasnt hadnt isnt arent
        youre youve whats whos wheres whens hows whys thats""",
    "de": """aber als also am an ans auch auf aus bei beim bin bis bist da damit dann das dass dein deine deinem deinen
        deiner dem den denn der des dessen dich die dies diese dieser dieses dir doch dort du durch ein eine einem einen
        einer eines er es etwas euch euer eure für gab ganz gegen gibt hab habe haben hast hat hatte hatten hattest hier
        ich ihm ihn ihnen ihr ihre ihrem ihren im in ins ist ja jede jeder jedes kann kannst kein keine konnte können
        man mehr mein meine mich mir mit muss musste nach nein nicht nichts noch nur ob oder ohne sehr sein seine seinem
        seinen seiner seit sich sie sind so soll sollte über um und uns unser unter vom von vor war waren warst warum
        was wann wem wen wenn wer werden weshalb wessen wie wieso wieviel viele viel will wir wird wo woher wohin wozu
        wurde wurden wurdest worden zu zum zur zwischen bitte mal euren eurem eurer eures unsere unseren unserem unserer
        deines meinen meinem meiner meines seines ihrer ihres keinen keinem keiner keines welche welchem welchen welcher welches
        diesem diesen dessen deren denen derer jedem jeden jedes manche mancher solche solcher alle allem allen aller alles
        andere anderen anderer anderes sollen sollten solltest wollen wollte wollten wolltest willst würde würden würdest
        darf darfst dürfen durfte durften mag magst möchte möchten möchtest müssen mussten musstest konnten konntest könnt
        habt hätte hätten hättest wäre wären wärst sei seid werde werdet wirst wieder immer schon sogar sonst sondern obwohl
        während wegen durchs fürs ums dabei dafür daher damals danach daran darauf daraus darin darüber darum davon davor
        dazu wobei wofür womit wonach woran worauf woraus worin worüber worum wovon wovor etwa eben eher einmal erst irgend
        jemand niemand jetzt nun oft selbst selber sowie statt trotz welchen wessen zwar geworden gewesen gehabt macht machen
        machte machten tun tat taten getan gemacht hatten eigentlich überhaupt ihrerseits genau gerade sagen erzählen erzähl sag weiter""",
    "fr": """à ai alors après as au aucun aussi autre aux avait avant avec avez avoir bien ce cela ces cet cette ceux
        chez comme comment dans de depuis des donc dont du elle elles en encore entre est et étaient était étiez êtes
        été être eu fait faire faites fut furent il ils je jusque la là le les leur leurs lors lui ma mais me même mes
        moi mon ne ni nos notre nous on ont ou où par parce pas pendant peu peut plus pour pourquoi qu quand que quel
        quelle quelles quels qui quoi sa sans se sera ses si son sont sous suis sur ta te tes toi ton tous tout toute
        toutes très tu un une vos votre vous y combien ensuite puis est-ce""",
    "es": """a al algo ante antes aquel aquella así aun aunque cada como cómo con contra cual cuál cuales cuando cuándo
        cuanto cuánto cuántos de del desde donde dónde dos durante e el él ella ellas ellos en entre era eran eras eres
        es esa ese eso esta está estaba este esto estos fue fueron fuiste ha había habían han has hasta hay he hizo la
        las le les lo los más me mi mis mucho muy nada ni no nos nosotros o os otra otro para pero poco por porque por
        qué que quién quien quiénes se ser si sí sido sin sobre son soy su sus también te tiene tienes todo tu tú tus
        un una uno unos usted ustedes y ya yo luego después entonces""",
    "it": """a abbia ai al alla alle allo anche avere avete aveva avevano avevi avuto che chi ci come con cosa cui da dai dal
        dalla dalle de degli dei del dell della delle di dopo dove e è ed era erano eravate eri essere fa fate fatto fino fu
        fui furono già gli ha hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie mio molto ne nei nel nella
        nelle noi non nostro o ogni per perché però più poi prima qual quale quali quando quanta quante quanti quanto quella
        quelle quelli quello questa queste questi questo se sei senza si sia siamo siete sono sta stata stato su sua sue
        sugli sui sul sulla suo suoi te ti tra tu tua tue tuo tuoi tutti tutto un una uno vi voi vostra vostro""",
    "pt": """a ao aos as até com como da das de dela dele deles depois do dos e é ela elas ele eles em entre era eram essa
        esse esta está este eu foi foram há isso isto já lhe mais mas me mesmo meu minha muito na nas não nem no nos nossa
        nosso num numa o onde os ou para pela pelas pelo pelos por porque porquê qual quais quando quanta quantas quanto
        quantos que quê quem se sem ser seu seus sido são só sob sobre sua suas também te tem têm teu teve tinha toda todas
        todo todos tu tua um uma você vocês vos""",
    "nl": """aan al alle als altijd andere ben bent bij dan dat de deze die dit doen door dus een en er geen ging haar had
        hadden hare heb hebben hebt heeft hem het hier hij hoe hoeveel hun iets ik in is ja je jij jou jouw jullie kan kon
        kun kunnen maar me meer men met mij mijn moet na naar niet niets nog nu of om omdat ons onze ook op over te tegen
        toch toen tot u uit uw van veel voor waar waarom wanneer waren was wat we wel welk welke werd werden wezen wie wij
        wil worden wordt zal ze zei zich zij zijn zo zonder zou""",
    "sv": """alla allt än är att av blev bli där de dem den denna deras dess det detta dig din dina ditt du efter ej eller en
        er era ert ett från för gjorde gör ha hade han hans har henne hennes hon honom hur här hurdan i icke ingen inom inte
        jag ju kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något några och om oss på så sig
        sin sina sitt ska skulle som under upp ut utan vad var varför varit varje vars vart vem vi vid vilka vilken vilket
        åt över""",
    "pl": """a aby ale bardzo bez bo by być był była byli było były ci co czego czemu czy dla do dlaczego gdy gdzie go i ich
        ile im inne ja jak jaka jaki jakie jako je jego jej jest jestem jesteś jeszcze już kiedy kim kogo kto która które
        który którzy ma mają mi miał miała mnie moja moje może mój mu my na nad nie nich nim o od on ona one oni pan pana
        pani po pod przed przez przy się są ta tak także tam te tego tej ten to twoja twoje twój ty tych tylko tym w was we
        wy z za ze że""",
    "ru": """а без бы был была были было быть в вам вами вас ваш ваша ваше вашего вашей ваши ваших во вот все всё вы где да
        для до его ее её если есть ещё же за и из или им их к как какая какие какой каком когда кого кому которая которые
        который кто ли между меня мне мой моя мы на над нас не него нее неё нет ни них но ну о об он она они оно от по под
        после почему при про с сам свой себя сколько со так там твой твоя те тебе тебя то тобой только том тот ты у уже чего
        чем что чтобы эта эти это этот я""",
    "zh": "然后 然後 时候 時候 时间 時間 如何 可以 告诉 告訴 一下 还是 還是 一共 里 裡 的 了 是 在 和 与 或 也 都 就 而 及 之 其 这 那 哪 什 么 怎 样 为 吗 呢 吧 啊 你 您 我 他 她 它 们 谁 何 几 多 少 有 没 不 被 把 從 从 對 对 於 于 個 个 這 為 嗎 們 誰 幾 沒 會 会 曾 请 請 问 問",
    "ja": "何 誰 あなた 貴方 ください こと もの いつ どこ どの なぜ どう どんな の は が を に で と も か ら な い う え お く け こ し す た だ て り る れ ん あ っ ょ ま せ さ そ ど よ",
}
_RANKS = """Admiral Aunt Baron Brother Captain Chief Count Countess Doctor Dr Duchess Duke Emperor Empress Father General King
    Lady Lord Madame Mother Mr Mrs Pope President Prince Princess Professor Queen Saint Sir Sister St The Uncle"""
RANKS = frozenset(_RANKS.split())
_STEMMERS = {
    "en": "english", "de": "german", "fr": "french", "es": "spanish", "it": "italian",
    "pt": "portuguese", "nl": "dutch", "sv": "swedish", "da": "danish", "no": "norwegian", "fi": "finnish",
    "ru": "russian", "pl": "polish", "cs": "czech", "hu": "hungarian", "ro": "romanian", "tr": "turkish",
}  # fmt: skip

_IRREGULAR = """arise arose arisen; awake awoke awoken; bear bore borne; beat beaten; begin began begun; bend bent; bind bound; bite bit
    bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought; catch caught;
    choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive
    drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fling flung; fly flew flown;
    forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen; give gave given; go went gone; grow
    grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led; leap leapt;
    learn learnt; leave left; lend lent; lie lain; light lit; lose lost; make made; mean meant; meet met; mow mown; overcome overcame;
    pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; see saw seen; seek sought; sell sold; send sent; sew sewn; shake
    shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid;
    smell smelt; sow sown; speak spoke spoken; spend spent; spin spun; spring sprang sprung; stand stood; steal stole stolen; stick stuck;
    sting stung; strike struck; strive strove striven; swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach
    taught; tear tore torn; think thought; throw threw thrown; tread trod trodden; understand understood; wake woke woken; wear wore worn;
    weave wove woven; weep wept; win won; withdraw withdrew withdrawn; write wrote written"""


def base_language(code: str) -> str:
    """A code without region or script; Wikipedia's Simple English is English."""
    base = code.split("-", maxsplit=1)[0]
    return "en" if base == "simple" else base


def content_words(text: str, language: str) -> list[str]:
    """Folded words in order, function words left out; a hyphenated one, or R2D2, gives its parts and, joined, the whole.

    Where words are not parted by blanks: pairs of neighboring characters, or one that stands alone.
    """
    dropped = _dropped(language)
    words: list[str] = []
    for found in _WORD.finditer(text.lower().replace("’", "'")):
        if found.group().isascii() and found.group().isalnum():  # most words; the rest takes ten times as long
            if not found.group().isalpha() and _UNHYPHENED.fullmatch(found.group()):
                words += re.findall(r"[a-z]+\d+", found.group())
            words += [] if found.group() in dropped else [fold(found.group(), language)]
            continue
        if _PAIRED.fullmatch(found.group()):
            words += _pairs(found.group(), dropped)
            continue
        word = _APOSTROPHE.sub("", _POSSESSIVE.sub("", found.group()))
        if found.group() in dropped or word in dropped:
            continue
        parts = [part for part in _JOINT.split(word) if part]
        kept = [part for part in parts if part not in dropped]
        words += [fold(part, language) for part in kept]
        if len(parts) > 1 and kept:
            words.append(fold("".join(parts), language))
    return [word for word in words if word]


def bare_title(title: str) -> str:
    """Without what tells it from other pages: Ada Marsh (pilot)."""
    return re.sub(r"\s*\([^)]*\)$", "", title) or title


def name_parts(title: str) -> list[str]:
    """The words of a longer name that stand for it alone: no rank, no epithet, not where somebody is from."""
    name = re.split(r", | (?:of|the|from) ", bare_title(title))[0]
    words = [word.strip(".,") for word in name.split()]
    if " " not in bare_title(title) or {"and", "&"} & set(words):
        return []
    named = dropwhile(RANKS.__contains__, words)
    return [word for word in named if len(word) > 2 and word[0].isupper()]


def has_function_words(language: str) -> bool:
    """Whether a list of the language's function words is known here."""
    return bool(_dropped(language))


def is_foreign(text: str, language: str) -> bool:
    """Whether the text is in another language: of its words two more are function words of that one than of this.

    Only told of languages whose function words are known here; "was" and "an" are of English and of German.
    """
    words = set(re.findall(rf"[^\W_{_UNSPACED}]+|[{_UNSPACED}]", text.lower()))
    own = len(words & _dropped(language))
    return has_function_words(language) and any(len(words & _dropped(other)) > own + 1 for other in _FUNCTION_WORDS)


def only_function_words(text: str) -> bool:
    """Whether it is made of function words alone, in one of the languages whose list is known here."""
    return any(not content_words(text, language) for language in _FUNCTION_WORDS)


@lru_cache(maxsize=100_000)
def fold(word: str, language: str) -> str:
    """The word's stem, lower case, without accents; a single Latin letter is nothing."""
    stem = _stem(word, language)
    plain = unaccented(stem)
    return "" if len(plain) == 1 and plain.isascii() and plain.isalpha() else plain


def unaccented(text: str) -> str:
    """Lower case, without accents."""
    lower = text.lower()
    if lower.isascii():
        return lower
    return "".join(c for c in unicodedata.normalize("NFKD", lower) if not unicodedata.combining(c))


def shortened(text: str, most: int) -> str:
    """The text on one line of at most so many characters, cut at a blank where there is one near the end."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > most // 2 else head).rstrip(" ,;:") + "…"


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text, in order, stripped, by Wikimedia's segmenter."""
    import sentencex

    pieces = (piece for line in text.splitlines() for piece in _bounded(line))
    parts = (part.strip() for piece in pieces for part in sentencex.segment(language, piece))
    return [part for part in parts if part]


def _bounded(line: str) -> Iterator[str]:
    """The line in pieces that end at a blank where there is one: the segmenter takes four times as long for twice as much."""
    while len(line) > _LONGEST_PARAGRAPH:
        end = line.rfind(" ", _LONGEST_PARAGRAPH // 2, _LONGEST_PARAGRAPH)
        end = end if end > 0 else _LONGEST_PARAGRAPH
        yield line[:end]
        line = line[end:]
    yield line


def windows(parts: Sequence[str], size: int = 2) -> list[str]:
    """Each run of `size` neighboring sentences, joined; all of them where there are no more."""
    if len(parts) <= size:
        return [" ".join(parts)]
    return [" ".join(parts[i : i + size]) for i in range(len(parts) - size + 1)]


def harmless(text: str) -> str:
    """The text without what a chat template would read as its own marks, a terminal as a command, or a prompt as its end."""
    marked = _TEMPLATE_TOKEN.sub(lambda mark: "‹" if mark.group() == "<" else "(", storable(text))
    return _FENCE.sub(lambda quotes: "”" * len(quotes.group()), marked)


def storable(text: str) -> str:
    """The text without control characters and halves of characters, which terminals obey and databases refuse.

    Nor does it hold those that make a line read as another.
    """
    return _UNSTORABLE.sub("", text)


def is_blank(text: str) -> bool:
    """Whether nothing of it can be seen."""
    return all(unicodedata.category(c)[0] in "ZC" for c in text)


def count(number: int, noun: str, nouns: str = "") -> str:
    """As in "1 interview", "2 interviews", "1,200 passages"."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


@lru_cache(maxsize=32)
def _dropped(language: str) -> frozenset[str]:
    return frozenset(_FUNCTION_WORDS.get(base_language(language), "").split())


def _pairs(run: str, dropped: frozenset[str]) -> list[str]:
    """Each two neighbors of what function words leave of a run; one character alone as it is."""
    parts = _between(dropped).sub(" ", run).split()
    return [part[i : i + 2] for part in parts for i in range(max(len(part) - 1, 1))]


@lru_cache(maxsize=32)
def _between(dropped: frozenset[str]) -> re.Pattern[str]:
    """Matches a function word that is written without blanks, the longest first."""
    words = sorted((word for word in dropped if _PAIRED.fullmatch(word)), key=len, reverse=True)
    return re.compile("|".join(words) or "(?!)")


_stemming = Lock()  # a stemmer holds the word that it works on: two threads would mix theirs up


def _stem(word: str, language: str) -> str:
    algorithm = _STEMMERS.get(base_language(language))
    word = _infinitives().get(word, word) if algorithm == "english" else word
    if algorithm is None or not word.isalpha():
        return word
    with _stemming:
        return str(_stemmer(algorithm).stemWord(word))


def irregular_forms() -> frozenset[str]:
    """Forms of English verbs that end in no rule."""
    return frozenset(_infinitives())


@lru_cache(maxsize=1)
def _infinitives() -> dict[str, str]:
    """English verbs that no stemmer brings to their stem: interviewers ask "did you keep", pages say "kept"."""
    verbs = (verb.split() for verb in _IRREGULAR.split(";"))
    return {form: base for base, *forms in verbs for form in forms}


@lru_cache(maxsize=32)
def _stemmer(algorithm: str):  # type: ignore[no-untyped-def]  # noqa: ANN202 - the package has no types
    import snowballstemmer

    return snowballstemmer.stemmer(algorithm)
