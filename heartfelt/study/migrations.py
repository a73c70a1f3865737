"""A study's tables, step by step. A step that has been released is never changed: a new one follows it.

Times are seconds since 1970; what only this room reads is JSON text. One database may hold several studies.
"""

from sqlalchemy import Column, Connection, Float, Integer, MetaData, String, Table, Text, text

META = MetaData()
SCHEMA = Table("heartfelt_study_schema", META, Column("step", Integer, primary_key=True))


def _id(name: str, key: bool = False) -> Column[str]:
    return Column(name, String(64), primary_key=key, nullable=False)


STUDIES = Table(
    "heartfelt_studies", META,
    _id("name", True), Column("fingerprint", String(64)), Column("secret", String(64)), Column("file", Text),
    Column("created", Float),
)  # fmt: skip
ITEMS = Table(  # an attention item belongs to no batch
    "heartfelt_study_items", META,
    _id("study", True), Column("number", Integer, primary_key=True), Column("batch", Integer), Column("content", Text),
)  # fmt: skip
RATERS = Table(
    "heartfelt_study_raters", META,
    _id("id", True), _id("study"), Column("worker", String(200)), Column("created", Float), Column("consented", Float),
    Column("began", Float), Column("survey", Text), Column("surveyed", Float),
)  # fmt: skip
WORK = Table(  # a batch in one rater's hands; pages: which items, and their replies in the order shown
    "heartfelt_study_work", META,
    _id("id", True), _id("study"), _id("rater"), Column("batch", Integer), Column("pages", Text),
    Column("started", Float), Column("touched", Float), Column("finished", Float), Column("code", String(32)),
)  # fmt: skip
ANSWERS = Table(
    "heartfelt_study_answers", META,
    _id("work", True), Column("place", Integer, primary_key=True), Column("item", Integer), Column("value", Text),
    Column("first", Text), Column("revision", Integer), Column("seconds", Float), Column("created", Float),
    Column("changed", Float),
)  # fmt: skip
VISITS = Table(  # of a collection: an emotion, a situation, and what came of it
    "heartfelt_study_visits", META,
    _id("id", True), _id("study"), _id("rater"), Column("offered", Text), Column("emotion", String(32)),
    Column("situation", Text), Column("created", Float), Column("finished", Float),
    Column("code", String(32)),
)  # fmt: skip
TALKS = Table(
    "heartfelt_study_talks", META,
    _id("id", True), _id("study"), _id("pair"), Column("number", Integer), _id("speaker"), _id("listener"),
    Column("started", Float), Column("ended", Float), Column("outcome", String(16)),
)  # fmt: skip
SAID = Table(
    "heartfelt_study_said", META,
    _id("talk", True), Column("place", Integer, primary_key=True), _id("visit"), Column("post", String(64)),
    Column("text", Text), Column("at", Float),
)  # fmt: skip


def ratings(connection: Connection) -> None:
    for statement in (
        "CREATE TABLE heartfelt_studies (name VARCHAR(64) PRIMARY KEY, fingerprint VARCHAR(64) NOT NULL, "
        "secret VARCHAR(64) NOT NULL, file TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)",
        "CREATE TABLE heartfelt_study_items (study VARCHAR(64) NOT NULL REFERENCES heartfelt_studies (name), "
        "number INTEGER NOT NULL, batch INTEGER, content TEXT NOT NULL, PRIMARY KEY (study, number))",
        "CREATE TABLE heartfelt_study_raters (id VARCHAR(64) PRIMARY KEY, study VARCHAR(64) NOT NULL REFERENCES "
        "heartfelt_studies (name), worker VARCHAR(200), created DOUBLE PRECISION NOT NULL, consented DOUBLE PRECISION, "
        "began DOUBLE PRECISION, survey TEXT, surveyed DOUBLE PRECISION, UNIQUE (study, worker))",
        "CREATE TABLE heartfelt_study_work (id VARCHAR(64) PRIMARY KEY, study VARCHAR(64) NOT NULL, rater VARCHAR(64) "
        "NOT NULL REFERENCES heartfelt_study_raters (id), batch INTEGER NOT NULL, pages TEXT NOT NULL, "
        "started DOUBLE PRECISION NOT NULL, touched DOUBLE PRECISION NOT NULL, finished DOUBLE PRECISION, "
        "code VARCHAR(32), UNIQUE (rater, batch))",
        "CREATE INDEX heartfelt_study_work_batch ON heartfelt_study_work (study, batch)",
        "CREATE TABLE heartfelt_study_answers (work VARCHAR(64) NOT NULL REFERENCES heartfelt_study_work (id), "
        "place INTEGER NOT NULL, item INTEGER NOT NULL, value TEXT NOT NULL, first TEXT NOT NULL, "
        "revision INTEGER NOT NULL, seconds DOUBLE PRECISION NOT NULL, created DOUBLE PRECISION NOT NULL, "
        "changed DOUBLE PRECISION NOT NULL, PRIMARY KEY (work, place))",
    ):
        connection.execute(text(statement))


def collections(connection: Connection) -> None:
    for statement in (
        "CREATE TABLE heartfelt_study_visits (id VARCHAR(64) PRIMARY KEY, study VARCHAR(64) NOT NULL, "
        "rater VARCHAR(64) NOT NULL REFERENCES heartfelt_study_raters (id), offered TEXT NOT NULL, "
        "emotion VARCHAR(32), situation TEXT, created DOUBLE PRECISION NOT NULL, finished DOUBLE PRECISION, "
        "code VARCHAR(32))",
        "CREATE INDEX heartfelt_study_visits_rater ON heartfelt_study_visits (study, rater)",
        "CREATE TABLE heartfelt_study_talks (id VARCHAR(64) PRIMARY KEY, study VARCHAR(64) NOT NULL, "
        "pair VARCHAR(64) NOT NULL, number INTEGER NOT NULL, speaker VARCHAR(64) NOT NULL, "
        "listener VARCHAR(64) NOT NULL, started DOUBLE PRECISION NOT NULL, ended DOUBLE PRECISION, "
        "outcome VARCHAR(16), UNIQUE (pair, number))",
        "CREATE TABLE heartfelt_study_said (talk VARCHAR(64) NOT NULL REFERENCES heartfelt_study_talks (id), "
        "place INTEGER NOT NULL, visit VARCHAR(64) NOT NULL, post VARCHAR(64) NOT NULL, text TEXT NOT NULL, "
        "at DOUBLE PRECISION NOT NULL, PRIMARY KEY (talk, place), UNIQUE (talk, post))",
    ):
        connection.execute(text(statement))


STEPS = (ratings, collections)
