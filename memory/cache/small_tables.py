"""Reads small tables whole."""

from psycopg.rows import TupleRow

from memory.access.switches import AGENT_SWITCHES
from memory.cache.audience import AgentRow, ProjectRow
from memory.cache.state import Cache
from memory.db.connections import Connection
from memory.english.mute_patterns import compile_patterns
from memory.settings import registry

AGENTS = f"""
    SELECT token_hash, name, scope, can_teach, episodes, project_id, allows_all_projects OR scope = 'operator',
        ARRAY(SELECT project_id FROM agent_allowed_projects WHERE agent_id = agent.id), {", ".join(AGENT_SWITCHES)}
    FROM agent
"""
TEMPLATES = "SELECT agent, person, digest FROM prompt_opening WHERE state = 'template'"
DIMENSIONS = "SELECT id, on_collision = 'supersede', is_additive, split_from_id FROM dimension"


async def read_dimensions(cache: Cache, connection: Connection) -> None:
    rows = await _read(connection, DIMENSIONS)
    cache.superseding_dims = {dim_id for dim_id, supersedes, _, _ in rows if supersedes}
    cache.additive_dims = {dim_id for dim_id, _, is_additive, _ in rows if is_additive}
    split: dict[int, set[int]] = {}
    for dim_id, _, _, origin in rows:
        if origin is not None:
            split.setdefault(origin, set()).add(dim_id)
    cache.split_dims = split


async def read_config(cache: Cache, connection: Connection) -> None:
    rows: dict[str, str] = dict(await _read(connection, "SELECT key, value FROM config"))
    cache.tuning, cache.config_mistakes = registry.read_rows(rows)
    cache.ignored_settings = registry.list_ignored(rows)


async def read_agents(cache: Cache, connection: Connection) -> None:
    rows = await _read(connection, AGENTS)
    agents = {}
    for digest, name, scope, _, episodes, project, may_name_all, projects, *on in rows:
        off = frozenset(each for each, is_on in zip(AGENT_SWITCHES, on, strict=True) if not is_on)
        nameable = None if may_name_all else frozenset(projects) | {project} - {None}
        agents[digest] = AgentRow(name, scope, off, episodes, project, nameable)
    cache.put_agents(agents)
    cache.audience.decided = {name: can_teach for _, name, _, can_teach, *_ in rows if can_teach != "auto"}


async def read_projects(cache: Cache, connection: Connection) -> None:
    rows = await _read(connection, "SELECT slug, id, is_open FROM project")
    cache.projects = {slug: ProjectRow(project_id, is_open) for slug, project_id, is_open in rows}


async def read_teachers(cache: Cache, connection: Connection) -> None:
    cache.audience.teachers = {agent for (agent,) in await _read(connection, "SELECT agent FROM teacher")}


async def read_templates(cache: Cache, connection: Connection) -> None:
    templates: dict[tuple[str, ...], set[bytes]] = {}
    for agent, person, digest in await _read(connection, TEMPLATES):
        templates.setdefault((agent, person), set()).add(bytes(digest))
    cache.templates = templates


async def read_mutes(cache: Cache, connection: Connection) -> None:
    cache.mutes = compile_patterns([row[0] for row in await _read(connection, "SELECT pattern FROM mute_pattern")])


async def _read(connection: Connection, query: str) -> list[TupleRow]:
    cursor = await connection.execute(query)
    return await cursor.fetchall()
