"""What is said and decided without a model: small talk, refusals, the rules fixed in code. Pure.

Phrases exist in English, German, French, Spanish and Chinese; other languages get the English ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from persona.records import INTRODUCTION
from persona.text import bare_title, base_language


@dataclass(frozen=True, slots=True)
class Phrases:
    """What the persona says of itself in one language; `{name}` and `{sections}` are put in."""

    hello: str
    thanks: str
    goodbye: str
    refusal: str
    help: str
    private: str


_PHRASES = {
    "en": Phrases(
        "Hello, I am {name}. What would you like to know?",
        "You are welcome. Is there anything else you would like to ask?",
        "Goodbye, and thank you for the conversation.",
        "I'm afraid my page doesn't tell.",
        "That is nothing for me to decide. Please ask a doctor, or in an emergency call your local emergency number now.",
        "I keep that private, and my page doesn't tell.",
    ),
    "de": Phrases(
        "Guten Tag, ich bin {name}. Was möchten Sie wissen?",
        "Gern geschehen. Möchten Sie noch etwas fragen?",
        "Auf Wiedersehen, und danke für das Gespräch.",
        "Davon erzählt meine Seite leider nichts.",
        "Das kann ich nicht entscheiden. Fragen Sie bitte einen Arzt oder rufen Sie im Notfall jetzt den Notruf 112.",
        "Das ist privat, und meine Seite erzählt davon nichts.",
    ),
    "fr": Phrases(
        "Bonjour, je suis {name}. Que voulez-vous savoir ?",
        "Je vous en prie. Avez-vous une autre question ?",
        "Au revoir, et merci pour cet entretien.",
        "Ma page n'en dit rien, je le regrette.",
        "Ce n'est pas à moi d'en décider. Consultez un médecin ou, en cas d'urgence, appelez le 112 tout de suite.",
        "Cela reste privé, et ma page n'en dit rien.",
    ),
    "es": Phrases(
        "Hola, soy {name}. ¿Qué le gustaría saber?",
        "De nada. ¿Quiere preguntar algo más?",
        "Adiós, y gracias por la conversación.",
        "Lo siento, mi página no lo cuenta.",
        "Eso no me corresponde decidirlo. Consulte a un médico o, en una emergencia, llame ahora al 112.",
        "Eso es privado, y mi página no lo cuenta.",
    ),
    "zh": Phrases(
        "你好，我是{name}。你想知道什么？",
        "不客气。还有什么想问的吗？",
        "再见，谢谢你的采访。",
        "很抱歉，我的页面没有提到这一点。",
        "这不是我能决定的事。请咨询医生；如遇紧急情况，请立即拨打当地急救电话。",
        "这是私事，我的页面也没有提到。",
    ),
}
_HELLO = (
    r"hi|hello|hey|hiya|howdy|greetings|good (?:morning|afternoon|evening|day)|hallo|guten (?:tag|morgen|abend)|servus|moin"
    r"|grüß gott|bonjour|bonsoir|salut|hola|buen[oa]s (?:días|tardes|noches)|你好|您好|早上好|晚上好"
)
_GOODBYE = r"bye(?:[ -]?bye)?|good ?bye|see you(?: later| soon)?|farewell|good night|auf wiedersehen|tschüss|ciao|au revoir|adi[oó]s|hasta luego|再见"
# words of a question, which no greeting has
_ASKS = r"who\w*|what|when|where|why|how|which|if|whether|can|could|did|do|tell|give|explain|describe|curious|interested|wondering|asking"
_ASKS_ABROAD = (
    r"wer|was|wann|wo|wie|warum|ob|sie|ihre?\w*|du|dein\w*|qui|que|quand|où|comment|vous|votre|vos|tu|ton|ta"
    r"|quién|qué|cuándo|dónde|cómo|usted|sus?"
)
_WORDS, _WORDS_ABROAD = (rf"(?> (?!(?:{asks})\b)[\w'.-]+){{1,8}}" for asks in (rf"{_ASKS}|you\w*", _ASKS_ABROAD))
_FOR = rf"(?> for(?> (?!(?:{_ASKS}|for|thank\w*|{_GOODBYE})\b)[\w'-]+){{1,8}})?"
_THANKS = rf"(?>(?:thanks(?: a lot| so much| very much)?|thank you(?: (?:so|very) much)?|thx){_FOR}|danke(?: schön| sehr)?|vielen dank|merci(?: beaucoup)?|(?:muchas )?gracias|谢谢(?:你|您)?|多谢)"
_WELL = r"ok|okay|great|wow|perfect|cool|super|all ?right|well|oh|ah|fine|good|interesting|wonderful|excellent|lovely"
_ADDRESS = r"(?:[\s,]+(?:there|again|dear|(?:mr|mrs|ms|dr|prof)\b\.?|miss|sir|madam|doctor|professor|everyone|frau|herr|madame|monsieur|señora?)(?!\w))*+"
_PLEASANTRIES = (
    r"(?:nice|glad|pleased|good) to (?:meet|see) you|how are you(?: (?:today|doing))?|wie geht(?:'s| es (?:dir|ihnen))"
    r"|comment (?:allez[- ]vous|vas[- ]tu|ça va)|ça va|cómo está(?:s| usted)?|qué tal"
    rf"|(?:my name is|i am|i'm){_WORDS}|(?:ich bin|ich heiße|mein name ist|je suis|je m'appelle|soy|me llamo){_WORDS_ABROAD}"
)
_BEFORE = rf"(?>(?:{_WELL}|(?:{_HELLO}|{_THANKS}){_ADDRESS})\W+(?:(?:and|und|et|y)\W+)?)*"
_NAMES_SELF = rf"my name is{_WORDS}|(?:ich heiße|mein name ist|je m'appelle|me llamo){_WORDS_ABROAD}"
_SMALL_TALK = [
    re.compile(
        rf"\W*{_BEFORE}(?:{said}){_ADDRESS}(?:[\s,.!¿]+(?:(?:and|und|et|y) )?(?:{_PLEASANTRIES})){{0,3}}\W*",
        re.IGNORECASE,
    )
    for said in (rf"{_HELLO}|{_NAMES_SELF}", _THANKS, _GOODBYE)
]

_INTRODUCTION = re.compile(
    r"""^\W*(?:(?:so|please|well|and|now|can|could|would|will|you|hello|hi)\W+)*(?:
        who\ (?:are|were)\ you(?:\ really|\ exactly)? | (?:introduce|describe|present)\ yourself
      | (?:tell|say)\ (?:me|us)?\ ?(?:something\ |a\ (?:little|bit)\ |more\ |all\ )?about\ (?:yourself|you|your\ life(?:\ story)?|who\ you\ are)
      | (?:summari[sz]e|sum\ up|outline|describe)\ (?:your|the\ story\ of\ your)\ (?:life|career|story|biography)(?:\ for\ me)?
      | what\ (?:are|were)\ you\ (?:best\ )?known\ for | what(?:'?s|\ is)\ your\ (?:life\ )?story | tell\ me\ your\ (?:life\ )?story
      | wer\ (?:bist\ du|sind\ sie|warst\ du|waren\ sie) | (?:stell\ dich|stellen\ sie\ sich)(?:\ bitte)?\ vor
      | erzähl(?:e|en\ sie)?\ (?:mir\ )?(?:etwas\ )?(?:von\ (?:dir|sich|ihnen)|(?:aus|von|über)\ (?:deinem|ihrem|dein|ihr)e?n?\ leben)
      | qui\ (?:êtes[- ]vous|es[- ]tu) | présente(?:z)?[- ](?:vous|toi) | (?:quién|quien)\ (?:eres|es\ usted)
      | 你是谁 | 您是谁 | (?:请)?(?:介绍一下|自我介绍).{0,6} | 你是誰
    )(?:[\s,]+(?:please|bitte|in\ short|briefly|in\ (?:a\ few|two|three)\ (?:words|sentences)))?\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_CONVERSATION = re.compile(
    r"""\b(?:do|did|can|could|would)\ you\ (?:still\ )?(?:remember|recall|know)\ (?:me|my|what\ (?:i|we|my)|who\ i|where\ i|which\ \w+\ i)\b
      | \b(?:what|who|where|which|how|when)\b.{0,40}\b(?:is|was|'s)\ my\b | \bwhat(?:'?s|\ is|\ was)\ my\b | \bwho\ am\ i\b
      | \b(?:did|have)\ (?:i|we)\ (?:\w+\ )?(?:ask|asked|say|said|tell|told|mention|mentioned|talk|talked|discuss|discussed|speak|spoken)\b
      | \bwhat\ (?:did|have)\ (?:i|we)\b | \b(?:i|we)\ (?:just|first|already|asked|told|said|mentioned)\b.{0,60}\b(?:ask|asked|told|said|tell|mention|mentioned|before|earlier|you)\b
      | \b(?:did|have)\ you\ (?:(?:just|already)\ (?:say|said|tell|told|mention|mentioned|answer|answered)|tell\ (?:me|us)|told\ (?:me|us))\b
      | \bwhat\ did\ you\ (?:just\ )?(?:say|answer)\W*$ | \byou\ (?:say|said|mention|answer)\b.{0,60}\b(?:earlier|a\ moment\ ago|just\ now)\b
      | \byou\ (?:just\ )?(?:said|told\ me|mentioned|answered)\ (?:earlier|before|first|just\ now|that\ before)\b
      | \bmy\ (?:first|last|previous|second|earlier|name|question|questions)\b.{0,30}\?
      | \b(?:wie\ heiße\ ich|mein(?:e)?\ (?:name|erste\ frage|letzte\ frage)|habe\ ich\ (?:dich|sie|gefragt|gesagt))\b
      | \b(?:mon\ nom|ma\ (?:première|dernière)\ question|mi\ nombre|mi\ (?:primera|última)\ pregunta|me\ llamo)\b | 我的名字|我(?:刚才|第一个|先前)|我叫什么""",
    re.IGNORECASE | re.VERBOSE,
)
_NEEDS_HELP = re.compile(
    r"""\b(?:should|can|may|could|must|shall)\ (?:i|my\ \w+)\ (?:take|stop\ taking|use|inject|give|swallow|mix|drink|eat|smoke)\b.{0,60}\b(?:pill|pills|drug|drugs|medicine|medication|dose|aspirin|ibuprofen|paracetamol|insulin|antibiotics?|morphine|opium|cocaine|tablets?|remedy|treatment|radium|poison)\b
      | \b(?:what|which)\ (?:medicine|medication|drug|dose|dosage|treatment|pills?|antibiotics?|remedy|therapy)\ (?:should|do|can|would)\ (?:i|you\ (?:recommend|advise))\b
      | \b(?:diagnose\ (?:me|my)|do\ i\ have\ (?:cancer|diabetes|a\ (?:stroke|tumou?r|heart\ attack|concussion)|depression|covid)|am\ i\ having\ an?\ (?:heart\ attack|stroke|seizure|panic\ attack|overdose|allerg\w+|miscarriage))\b
      | \bwhat\ (?:is|could\ be)\ wrong\ with\ (?:me|my\ (?:heart|head|chest|stomach|leg|arm|child|baby|skin|eyes?))\b
      | \b(?:(?:i|my\ \w+)\ (?:have|has|had|am\ having|is\ having)|i'm\ having|i've\ (?:got|had))\ (?:a\ |an\ |severe\ |strong\ |terrible\ |sudden\ )*(?:chest\ pain|heart\ attack|stroke|overdose|seizure|fever|rash|lump|bleeding|headaches?)\b
      | \b(?:my\ (?:chest|heart)\ hurts|i\ can(?:no|')?t\ breathe|is\ not\ breathing|isn't\ breathing|i(?:'ve|\ have)?\ (?:took|taken|swallowed)\ (?:too\ many|poison|pills|an\ overdose))\b
      | \b(?:kill(?:ing)?|harm(?:ing)?|hurt(?:ing)?)\ myself\b | \bend\ my\ life\b | \bhow\b(?!(?:\ \w+){0,3}\ did\b).{0,30}\bcommit\ suicide\b
      | \bi\ (?:do\ not|don'?t)\ want\ to\ (?:live|be\ alive)(?:\ any\ ?more)?\W*$
      | \b(?:i|i'm|my\ \w+)\b(?:(?!\byour\ (?:own\ )?suicide|\byou\ (?:had\ |have\ )?(?:commit|attempt|consider|died\ by)).){0,40}\b(?:suicid(?:e|al)|wants?\ to\ die)\b
      | \b(?:how|what)\b.{0,40}\b(?:treat|cure|heal|stop)\ (?:my|a\ wound\ of\ mine|this\ (?:wound|burn|rash|bleeding))\b
      | \A(?=.*\b(?:soll|darf|kann|muss)\ (?:ich|mein))(?=.*\b(?:medikament|tablette|arznei|dosis|pille|antibioti|insulin|aspirin|ibuprofen|schmerzmittel|morphium))
      | \b(?:ich|mein\w*)\ (?:habe|hat|bekomm\w*|krieg\w*)\b.{0,20}\b(?:\w*schmerzen|herzinfarkt|schlaganfall|fieber|atemnot|blutung|keine\ luft)
      | \b(?:ich|mich|mir)\b(?:(?!\b(?:sie|du|ihr\w*|dein\w*)\ (?:selbstmord|suizid)).){0,40}\b(?:umbringen|das\ leben\ nehmen|selbstmord|suizid|nicht\ mehr\ leben)
      | \bj['’]ai\ (?:très\ )?(?:mal|de\ la\ fièvre|une?\ (?:crise|infarctus|avc)|pris\ trop) | \b(?:me\ (?:tuer|suicider)|à\ mes\ jours)\b
      | \b(?:dois|puis)[- ]je\ (?:prendre|arrêter|donner|avaler) | \bm[eé]dicament\w*\b.{0,20}\b(?:dois|puis)[- ]je
      | \bme\ duele | \bno\ puedo\ respirar | \btengo\ (?:fiebre|un\ infarto|dolor\ (?:de|en\ el)\ pecho) | \b(?:suicidarme|matarme|quitarme\ la\ vida)
      | \b(?:medicamento|medicina|pastillas?|dosis|remedio)\b.{0,20}\b(?:debo|puedo)\ | \b(?:debo|puedo)\ (?:tomar|dejar\ de\ tomar)\b
      | 我.{0,10}(?:胸口?[疼痛]|发烧|發燒|心脏病发|出血不止|喘不过气|呼吸困难|中毒) | 我(?:应该|應該|该|能|可以|要).{0,6}[吃服用].{0,6}[药藥] | 我[^你您妳他她]{0,6}(?:想死|自杀|自殺|想不开)""",
    re.IGNORECASE | re.VERBOSE,
)
_GO_ON = re.compile(
    r"\W*(?:(?:and|yes|please|bitte)\W+)*(?:go on|go ahead|continue|carry on|keep going|(?:mach|machen sie) weiter|weiter"
    r"|fahren sie fort|continuez?|poursuivez|sig[ae]|contin[uú][ea]|(?:请)?继续)(?:\W+(?:please|bitte|s'il (?:vous|te) plaît|por favor))?\W*",
    re.IGNORECASE,
)
_PRIVATE = re.compile(
    r"""\b(?:your|his|her|their)\ (?:\w+\ )?(?:phone|telephone|mobile|cell)(?:\ number|(?=\W*$))
      | \b(?:your|his|her)\ (?:\w+\ )?(?:e-?mail(?!\ (?:server|scandal|controversy|affair))|home\ address|street\ address|password|credit\ card
        |(?:bank|passport|social\ security)\ (?:account|number|details)|social\ security(?=\W*$))\b
      | \bwhere\ (?:exactly\ )?(?:do|does)\ (?:you|he|she|your\ \w+)\ live\b | \bwhat\ is\ your\ (?:home\ )?address\W*$
      | \b(?:Ihre?|deine?)\ (?:\w+\ )?(?:telefon|handy)(?:nummer)?\b | \b(?:Ihre?|deine?)\ (?:e-?mail|adresse|anschrift|passwort|kontonummer)
      | \bwo\ (?:genau\ )?wohn(?:en\ Sie|st\ du)\b | \boù\ (?:habitez|vivez)[- ]vous\b | \boù\ (?:habites|vis)[- ]tu\b
      | \b(?:votre|ton|ta)\ (?:numéro\ de\ téléphone|adresse(?=\W*$)|e-?mail|mot\ de\ passe)
      | \bdónde\ vives?\b | \b(?:su|tu)\ (?:número\ de\ teléfono|teléfono(?=\W*$)|dirección(?=\W*$)|correo|contraseña)
      | [你您]的?(?:电话|電話|手机|手機|住址|密码|密碼|邮箱) | [你您](?:现在)?住(?:在)?(?:哪|什么地方)""",
    re.IGNORECASE | re.VERBOSE,
)
_OUTSIDE = re.compile(
    r"""(?:^|[.!?;:,\n]\s*|\b(?:please|now)\s+
        |^(?!\W*(?:why|how|who|what|which|when|where|did|do|does|have|has|had|were|was|are|is)\b).*?\b(?:and|then|just|must|should)\s+)(?:ignore|disregard|forget)\b.{0,40}\b(?:instructions?|rules?|prompts?|orders|above|previous(?!\ (?:questions?|one|remarks?|topic|answers?)\b))\b
      | \b(?:ignore|disregard|forget)\ (?:all|any|every|these|those|your)?\ ?(?:your\ |the\ )?(?:previous|prior|above|earlier|system)\ (?:\w+\ )?(?:instructions?|rules|prompts?|orders|messages?)\b
      | \b(?:print|show|repeat|reveal|output|tell\ me|give\ me|what\ (?:is|are))\b.{0,30}\b
        (?:your\ (?:system\ )?(?:instructions?|prompts?|system\ message)(?!\ (?:to|for|on)\b)
        |the\ (?:system\ (?:prompt|message|instructions)|prompt)|(?:the\ )?(?:instructions|rules)\ you\ were\ given|the\ instructions\ above)\b""",
    re.IGNORECASE | re.VERBOSE,
)


def hint(sections: Sequence[tuple[str, ...]]) -> str:
    """What may be asked instead of what the page does not tell: its first headings."""
    names = list(dict.fromkeys(f"“{path[0]}”" for path in sections if path[0] != INTRODUCTION))[:4]
    if not names:
        return ". Rephrase it."
    return f". Rephrase it, or ask about {' or '.join(filter(None, (', '.join(names[:-1]), names[-1])))}."


def phrases(language: str) -> Phrases:
    """The phrases of a language, English ones where there are none."""
    return _PHRASES.get(base_language(language), _PHRASES["en"])


def small_talk(said: str, title: str, language: str) -> str | None:
    """The reply to a greeting, thanks or goodbye; None when more was said than that."""
    said, name = _straight(said), bare_title(title)
    if needs_real_help(said):
        return None
    names = "|".join(re.escape(part) for part in (title, name, *title.split()))
    said = re.sub(rf"(?<=[\s,])(?:{names})(?!\w)", "dear", said, flags=re.IGNORECASE)
    own = phrases(language)
    for pattern, reply in zip(_SMALL_TALK, (own.hello, own.thanks, own.goodbye), strict=True):
        if pattern.fullmatch(said):
            return reply.replace("{name}", name)
    return None


def needs_no_model(said: str, title: str, language: str, living: bool) -> bool:
    """Whether code alone has the reply: nobody waits in line to be greeted, or to be told to call a doctor."""
    return (
        small_talk(said, title, language) is not None
        or needs_real_help(said)
        or (living and asks_private_fact(said))
        or orders_the_program(said)
    )


def asks_for_introduction(said: str) -> bool:
    """Whether the page's Introduction is what was asked for."""
    return bool(_INTRODUCTION.match(_straight(said)))


def about_conversation(said: str) -> bool:
    """Whether the question is about what was said in this conversation."""
    return bool(_CONVERSATION.search(_straight(said)))


def asks_to_go_on(said: str) -> bool:
    """Whether the rest of an answer is asked for."""
    return bool(_GO_ON.fullmatch(_straight(said)))


def needs_real_help(said: str) -> bool:
    """Whether an answer in role could harm: diagnosis, treatment, an emergency."""
    return bool(_NEEDS_HELP.search(_straight(said)))


def asks_private_fact(said: str) -> bool:
    """Whether it asks for what would expose a living person."""
    return bool(_PRIVATE.search(_straight(said)))


def orders_the_program(said: str) -> bool:
    """Whether it is addressed to the program behind the persona: its instructions, or to drop them."""
    return bool(_OUTSIDE.search(_straight(said)))


def _straight(said: str) -> str:
    """With the apostrophes and blanks that the patterns have: telephones write "can’t"."""
    return re.sub(r"[^\S\n]+", " ", said.replace("’", "'"))
