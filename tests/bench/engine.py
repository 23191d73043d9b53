"""LlamaIndex's CondensePlusContextChatEngine over the same page, embedder and model: the four nearest of 256 tokens.

It is told what our own answering prompt tells, since its default asks for talkative answers by an assistant, and it
streams. Each case has a memory of its own that holds the case's history.
"""

from __future__ import annotations

from typing import Any

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.llms import ChatMessage
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import SentenceSplitter
from llama_index.llms.openai_like import OpenAILike
from pydantic import PrivateAttr

from persona.cases import Case
from persona.ports import Embedder
from persona.records import PATH_SEPARATOR, Page
from persona.text import sentences
from tests.bench.contender import LONGEST, WINDOW, Measured, Pages, Said, turn

TOP = 4
CHUNK, OVERLAP = 256, 20  # tokens, by the embedder's count
_PROMPT = """You are {name}, giving an interview. You speak in the first person and answer in one or two short sentences, only from the text about you below. If the text does not answer the question, you reply NOT FOUND.

Text about you:
{{context_str}}"""


class Engine:
    """Implements Contender. `base` is the model server's address with /v1."""

    def __init__(self, base: str, model: str, embedder: Embedder, pages: Pages) -> None:
        self._embedder, self._pages = embedder, pages
        self._indexes: dict[str, VectorStoreIndex] = {}
        self._llm = OpenAILike(
            model=model,
            api_base=base,
            api_key="none",
            is_chat_model=True,
            context_window=WINDOW,
            max_tokens=LONGEST,
            temperature=0.0,
            timeout=900.0,
            max_retries=0,
        )

    def ask(self, case: Case) -> Measured:
        """See Contender."""
        page = self._pages(case.page)
        index = self._index(page)
        measured: list[Measured] = []
        with turn(case, measured) as said:
            self._answer(case, page, index, said)
        return measured[0]

    def _answer(self, case: Case, page: Page, index: VectorStoreIndex, said: Said) -> None:
        said.stage = "engine"
        history = [
            ChatMessage(role="user" if who == "user" else "assistant", content=text) for who, text in case.history
        ]
        engine = CondensePlusContextChatEngine.from_defaults(
            retriever=index.as_retriever(similarity_top_k=TOP),
            llm=self._llm,
            memory=ChatMemoryBuffer.from_defaults(chat_history=history, token_limit=WINDOW // 2),
            context_prompt=_PROMPT.format(name=page.title.replace("{", "").replace("}", "")),
        )
        response = engine.stream_chat(case.question)
        said.passages = [node.node.get_content() for node in response.source_nodes]
        for piece in response.response_gen:
            if piece:
                said.heard()
            said.text += piece
        said.text = said.text.strip()

    def _index(self, page: Page) -> VectorStoreIndex:
        if page.title not in self._indexes:
            documents = [
                Document(text=section.text, metadata={"section": PATH_SEPARATOR.join(section.path)})
                for section in page.sections
            ]
            splitter = SentenceSplitter(
                chunk_size=CHUNK,
                chunk_overlap=OVERLAP,
                tokenizer=lambda text: [0] * self._embedder.count(text),  # only its length is looked at
                chunking_tokenizer_fn=lambda text: _sentences(text, page.language),
            )
            embedding = _Embedding(self._embedder)
            self._indexes[page.title] = VectorStoreIndex.from_documents(
                documents, transformations=[splitter], embed_model=embedding
            )
        return self._indexes[page.title]


class _Embedding(BaseEmbedding):
    """Our embedder as LlamaIndex wants one."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name, embed_batch_size=64)
        self._embedder = embedder

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed(texts).tolist()
        return vectors

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


def _sentences(text: str, language: str) -> list[str]:
    """Sentences with the blank that the splitter, which joins them by nothing, would else lose."""
    return [f"{sentence} " for sentence in sentences(text, language)]
