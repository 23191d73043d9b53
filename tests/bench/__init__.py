"""Yardsticks: what a turn costs here, in a plain pipeline and in LlamaIndex's chat engine; loading; scale.

`python -m tests.bench` runs the contest (see the Makefile), `python -m tests.bench.loading` compares loading a page with
Chroma's own `add`, `python -m tests.bench.scale` measures a full library beside an empty one, `python -m tests.bench.app` how quick the
app is.
"""
