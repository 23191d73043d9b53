"""A real MediaWiki on loopback with the pages of tests/pages: Debian's package, PHP's own server and SQLite.

Each file there is a page of that name, written for these tests. The wiki is set up in a temporary folder, which takes
some seconds, and lasts for the session. Two tags stand for extensions that Debian does not have: `<disambig/>` marks
a page as Disambiguator does, `<shortdesc>` describes it as Wikibase does; `<formula/>` renders as Math does. A class
stands for PageImages: it gives the pages of PORTRAYED the pictures of tests/portraits.py.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.sax.saxutils import escape

import httpx
import pytest

from tests.needs import need
from tests.portraits import portrait

PAGES = Path(__file__).parent / "pages"
MEDIAWIKI = Path("/usr/share/mediawiki")

PORTRAYED = ("Cornelius Vane", "Mirela Tordesan")

# Questions that the page answers, and questions that it does not.
GERMAN_PAGE = "Ottilie Brandwein"
GERMAN_OWN = (
    "Wo haben Sie das Uhrmacherhandwerk gelernt?",
    "Aus welchem Metall bestand die Unruh Ihrer Schiffsuhr?",
    "Wie viele Ballonfahrten haben Sie unternommen?",
    "Wie hieß die Katze, die im Ballon mitflog?",
)
GERMAN_OFF_TOPIC = (
    "Warum ist der Himmel blau?",
    "Wie programmiert man eine Datenbank?",
    "Wer gewann die Fußballweltmeisterschaft 2014?",
    "Wie viele Einwohner hat Australien?",
)
CHINESE_PAGE = "沈雁秋"
CHINESE_OWN = (
    "《东溟针路图》一共有几卷？",
    "你是怎样防止水手牙龈出血的？",
    "听潮义学收学费吗？",
    "船主林阿福是哪里人？",
)
CHINESE_OFF_TOPIC = (
    "为什么天空是蓝色的？",
    "怎样安装电脑的操作系统？",
    "二〇一四年世界杯足球赛谁赢了？",
    "澳大利亚有多少人口？",
)

_SETTINGS = r"""
$wgJobRunRate = 0;
$wgParserCacheType = CACHE_NONE;
$wgExtractsExtendOpenSearchXml = false;
wfLoadExtension( 'TextExtracts' );
wfLoadExtension( 'Cite' );
$wgHooks['ParserFirstCallInit'][] = static function ( Parser $parser ) {
	$parser->setHook( 'disambig', static function ( $text, $args, Parser $parser ) {
		$parser->getOutput()->setPageProperty( 'disambiguation', '' );
		return '';
	} );
	$parser->setHook( 'shortdesc', static function ( $text, $args, Parser $parser ) {
		$parser->getOutput()->setPageProperty( 'wikibase-shortdesc', $text );
		return '';
	} );
	$parser->setHook( 'formula', static function () {
		$math = "<math>\n  <semantics>\n    <mrow>\n      <mi>E</mi>\n      <mo>=</mo>\n      <mi>m</mi>\n      <msup>\n"
			. "        <mi>c</mi>\n        <mn>2</mn>\n      </msup>\n    </mrow>\n"
			. '    <annotation encoding="application/x-tex">{\displaystyle E=mc^{2}}</annotation>'
			. "\n  </semantics>\n</math>";
		return [ '<span class="mwe-math-element"><span style="display: none;">' . $math . '</span></span>',
			'markerType' => 'nowiki' ];
	} );
};
class Portraits extends ApiQueryBase {
	public function __construct( ApiQuery $query, $name ) {
		parent::__construct( $query, $name, 'pi' );
	}
	public function execute() {
		global $wgServer;
		foreach ( $this->getPageSet()->getGoodPages() as $id => $page ) {
			$file = $page->getDBkey() . '.jpg';
			if ( file_exists( __DIR__ . "/../portraits/$file" ) ) {
				$picture = [ 'source' => "$wgServer/portraits/$file", 'width' => 500, 'height' => 500 ];
				$this->getResult()->addValue( [ 'query', 'pages', $id ], 'thumbnail', $picture );
				$this->getResult()->addValue( [ 'query', 'pages', $id ], 'pageimage', $file );
			}
		}
	}
	public function getAllowedParams() {
		return [ 'prop' => 'thumbnail', 'thumbsize' => 50, 'limit' => 50 ];
	}
}
$wgAPIPropModules['pageimages'] = Portraits::class;
"""
_ROUTER = r"""<?php
$file = __DIR__ . urldecode( parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH ) );
if ( !preg_match( '~/portraits/[^/]+\.jpg$~', $file ) || !file_exists( $file ) ) {
	return false;
}
header( 'Content-Type: image/jpeg' );
readfile( $file );
"""


@pytest.fixture(scope="session")
def mediawiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the wiki's api.php."""
    need(MEDIAWIKI.is_dir(), f"MediaWiki is not installed in {MEDIAWIKI} (Debian's package mediawiki)")
    need(shutil.which("php"), "php is not installed (Debian's package php-cli)")
    modules = subprocess.run(["php", "-m"], capture_output=True, text=True, check=True).stdout.split()
    for module in ("pdo_sqlite", "mbstring", "xml", "intl"):
        need(module in modules, f"php has no {module} (Debian's packages php-sqlite3, php-mbstring, php-xml, php-intl)")
    with running(tmp_path_factory.mktemp("mediawiki")) as api:
        yield api


@contextmanager
def running(folder: Path) -> Iterator[str]:
    """The wiki set up in an empty folder, while the context lasts."""
    port = _free_port()
    _set_up(folder, port)
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(
            ["php", "-S", f"127.0.0.1:{port}", "-t", str(MEDIAWIKI), str(folder / "router.php")],
            env=_env(folder),
            stdout=log,
            stderr=log,
        )
    try:
        api = f"http://127.0.0.1:{port}/api.php"
        _wait_for(api, server)
        yield api
    finally:
        server.terminate()
        server.wait(10)


def _set_up(folder: Path, port: int) -> None:
    (folder / "data").mkdir()
    (folder / "conf").mkdir()
    _maintain(
        "install", "--dbtype=sqlite", f"--dbpath={folder / 'data'}", "--dbname=wiki", "--scriptpath=",
        f"--server=http://127.0.0.1:{port}", "--pass=only-for-these-tests-1", f"--confpath={folder / 'conf'}",
        "Testwiki", "Admin",
    )  # fmt: skip
    settings = folder / "conf" / "LocalSettings.php"
    settings.write_text(settings.read_text("utf-8") + _SETTINGS, "utf-8")
    with sqlite3.connect(folder / "data" / "wiki.sqlite") as database:
        database.execute(
            "INSERT INTO interwiki (iw_prefix, iw_url, iw_api, iw_wikiid, iw_local, iw_trans)"
            " VALUES ('fr', 'http://127.0.0.1/fr/$1', '', '', 0, 0)"
        )
    database.close()
    (folder / "router.php").write_text(_ROUTER, "utf-8")
    (folder / "portraits").mkdir()
    for title in PORTRAYED:
        (folder / "portraits" / f"{title.replace(' ', '_')}.jpg").write_bytes(portrait(title))
    (folder / "pages.xml").write_text(_export(), "utf-8")
    _maintain("importDump", "--quiet", str(folder / "pages.xml"), env=_env(folder))


def _export() -> str:
    pages = "".join(
        f"<page><title>{escape(file.stem)}</title><ns>0</ns><revision><timestamp>2024-05-06T07:08:09Z</timestamp>"
        "<contributor><username>Admin</username></contributor><model>wikitext</model><format>text/x-wiki</format>"
        f'<text xml:space="preserve">{escape(file.read_text("utf-8"))}</text></revision></page>\n'
        for file in sorted(PAGES.glob("*.wikitext"))
    )
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">'
    return f"{head}\n{pages}</mediawiki>\n"


def _maintain(script: str, *arguments: str, env: dict[str, str] | None = None) -> None:
    command = ["php", str(MEDIAWIKI / "maintenance" / f"{script}.php"), *arguments]
    clean = {name: value for name, value in os.environ.items() if name != "MW_CONFIG_FILE"}
    done = subprocess.run(command, env=env or clean, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{script}: {done.stdout}\n{done.stderr}"


def _env(folder: Path) -> dict[str, str]:
    return {**os.environ, "MW_CONFIG_FILE": str(folder / "conf" / "LocalSettings.php")}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(api: str, server: subprocess.Popen[bytes]) -> None:
    """Until the wiki answers a first request, which fills its caches."""
    until = time.monotonic() + 60
    while time.monotonic() < until and server.poll() is None:
        try:
            if httpx.get(api, params={"action": "query", "format": "json"}, timeout=60).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.05)
    pytest.fail(f"MediaWiki did not start at {api}")
