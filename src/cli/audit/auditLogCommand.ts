import { INSTANCE_ACTIONS, WORKSPACE_ACTIONS } from "../../../projections/auditLog/auditActions.ts";
import { AUDIT_ACTOR, AUDIT_ACTOR_FORMS } from "../../../projections/auditLog/auditActors.ts";
import { auditLog } from "../../../projections/auditLog/auditLog.ts";
import {
  type AuditRow,
  countWorkspaceEntries,
  listAuditLog,
  type WorkspaceEntries,
} from "../../../projections/auditLog/queries.ts";
import type { KeysetCursor } from "../../../projections/keysetPagination.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import { keyNameWithPerson } from "../../domain/apiKey/person.ts";
import { auditEntryJson } from "../../http/audit/auditEntryResource.ts";
import { withSenderName } from "../../http/audit/auditLogController.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { counted } from "../../kernel/text/readableNumbers.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { createTables } from "../../readModels/generations/createTables.ts";
import type { Config } from "../../service/config/config.ts";
import { type Command, type Invocation, UsageError } from "../program/command.ts";
import { withStore } from "../program/openStoreForCommand.ts";
import { parseTime } from "../program/timeArgument.ts";
import { existingWorkspace } from "../workspace/workspaceOption.ts";

/** Entries to read at once. */
const PAGE_ENTRIES = 500;
const ENTRIES_DEFAULT = 1_000;
const ENTRIES_MAX = 100_000;

/** What the call asks for. */
interface AuditLogArguments {
  /** Null: the whole installation. */
  readonly workspaceId: string | null;
  readonly createdFrom?: string;
  readonly action?: string;
  /** The id of a key, or one of `AUDIT_ACTORS`. */
  readonly actor?: string;
  /** The maximum number of entries. */
  readonly entries: number;
}

function entriesMax(text: string | undefined): number {
  const entries = Number(text ?? ENTRIES_DEFAULT);
  if (Number.isSafeInteger(entries) && entries >= 1 && entries <= ENTRIES_MAX) return entries;
  throw new UsageError(`--limit takes a whole number from 1 to ${ENTRIES_MAX}`);
}

/** Refuses what cannot have been done there, because it would find nothing. */
function checkAction(action: string | undefined, workspaceId: string | null): void {
  const here: readonly string[] = workspaceId === null ? INSTANCE_ACTIONS : WORKSPACE_ACTIONS;
  const elsewhere: readonly string[] = workspaceId === null ? WORKSPACE_ACTIONS : INSTANCE_ACTIONS;
  if (action === undefined || here.includes(action)) return;
  if (!elsewhere.includes(action))
    throw new UsageError(`--action takes one of these, not ${action}: ${here.join(", ")}`);
  throw new UsageError(
    workspaceId === null
      ? `${action} is done in a workspace: say which with --workspace <id>`
      : `${action} is done to the whole installation: leave out --workspace`,
  );
}

/** Refuses what cannot have acted, because it would find nothing. */
function checkActor(actor: string | undefined): void {
  if (actor === undefined || AUDIT_ACTOR.test(actor)) return;
  throw new UsageError(
    `--actor takes ${AUDIT_ACTOR_FORMS}, not ${actor}: \`${POSTLEDGER} api-key list\` shows the ids`,
  );
}

function argumentsOf({ option }: Invocation): AuditLogArguments {
  const workspaceId = option("workspace") ?? null;
  const since = option("since");
  const action = option("action");
  const actor = option("actor");
  checkAction(action, workspaceId);
  checkActor(actor);
  const at = since === undefined ? null : parseTime(since, Date.now());
  if (since !== undefined && at === null) {
    throw new UsageError(`--since ${since} is not a time: RFC 3339, a date, or how long ago: 90m, 2h, 7d`);
  }
  return {
    workspaceId,
    entries: entriesMax(option("limit")),
    ...(at === null ? {} : { createdFrom: rfc3339(at) }),
    ...omitUndefined({ action, actor }),
  };
}

/** Builds the rows from the log, so the latest entries are there whether or not a service runs. */
async function withRows<Result>(
  store: EventStore,
  work: (db: ReadDatabase) => Promise<Result>,
): Promise<Result> {
  using db = sqliteReadDatabases.open(":memory:", "build");
  createTables(db, auditLog, "");
  db.begin();
  for await (const { events } of store.readAll(LOG_START, { types: auditLog.events })) {
    for (const event of events) auditLog.apply(event, db);
  }
  db.commit();
  return await work(db);
}

function entriesOf(db: ReadDatabase, { entries: wanted, ...asked }: AuditLogArguments): readonly AuditRow[] {
  const found: AuditRow[] = [];
  let after: KeysetCursor | null = null;
  do {
    const limit = Math.min(PAGE_ENTRIES, wanted - found.length);
    const page = listAuditLog(db, { ...asked, limit, ...(after ? { after } : {}) });
    found.push(...page.rows);
    after = page.next;
  } while (after !== null && found.length < wanted);
  return found;
}

/** What a call finds. */
interface Found {
  readonly rows: readonly AuditRow[];
  /** What it leaves out, because it is about workspaces; null if it is about one of them. */
  readonly elsewhere: WorkspaceEntries | null;
}

async function entries(config: Config, asked: AuditLogArguments): Promise<Found> {
  return withStore(config, async (store) => {
    const workspaceId = asked.workspaceId && (await existingWorkspace(store, asked.workspaceId));
    return withRows(store, async (db) => {
      const rows = entriesOf(db, { ...asked, workspaceId });
      if (workspaceId === null) return { rows, elsewhere: countWorkspaceEntries(db, asked) };
      const named = await Array.fromAsync(rows, (row) => withSenderName({ store }, workspaceId, row));
      return { rows: named, elsewhere: null };
    });
  });
}

function lineOf({ createdAt, action, actor, target, details }: AuditRow): string {
  const { person } = actor;
  const name = actor.name === null ? "api_key" : keyNameWithPerson({ name: actor.name, person });
  const who = actor.type === "api_key" ? `${name} (${actor.id})` : actor.type;
  const what = [target.label, target.id].filter((text) => text !== null).join(" ");
  const more = Object.entries(details).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [createdAt, action, who, what, ...more].filter((part) => part !== "").join("  ");
}

/** Without a workspace, what was looked for is often in one. */
function noEntries({ workspaceId }: AuditLogArguments): string {
  return workspaceId === null
    ? "no entries about the whole installation: --workspace <id> shows those of a workspace"
    : "no entries";
}

/** Where the entries are that most people look for. */
function elsewhereText({ entries, workspaces, workspaceId }: WorkspaceEntries): string {
  const shows = `${POSTLEDGER} audit log --workspace ${workspaceId ?? "<id>"}`;
  const where = workspaceId === null ? `${workspaces} workspaces` : `workspace ${workspaceId}`;
  return `not shown: ${counted(entries, "entry", "entries")} of ${where}, see \`${shows}\``;
}

/** Who did what: in one workspace, or to the installation. */
export const auditLogCommand: Command = {
  name: "audit log",
  summary: "Show who did what to keys, senders, templates, endpoints and limits",
  description:
    "Newest first. With --workspace, what was done in it; without, what was done to the whole installation: backups, exports, seals, restored copies. Reads the log, also beside a running service.",
  options: [
    {
      name: "workspace",
      value: "<id>",
      help: "id or name of a workspace (default: the installation's own entries)",
    },
    {
      name: "since",
      value: "<time>",
      help: "RFC 3339, a date (its first moment in UTC), or how long ago: 90m, 2h, 7d (default: the beginning)",
    },
    { name: "action", value: "<action>", help: "only this action, such as api_key.revoked (default: all)" },
    {
      name: "actor",
      value: "<actor>",
      help: `only what this one did: ${AUDIT_ACTOR_FORMS} (default: all)`,
    },
    {
      name: "limit",
      value: "<n>",
      help: `how many at most, 1 to ${ENTRIES_MAX} (default: ${ENTRIES_DEFAULT})`,
    },
  ],
  examples: [
    "postledger audit log --since 7d",
    "postledger audit log --workspace <id> --action api_key.issued --json",
    "postledger audit log --workspace <id> --actor command_line",
  ],
  async run(invocation) {
    const { config, print, json } = invocation;
    const asked = argumentsOf(invocation);
    const { rows, elsewhere } = await entries(config, asked);
    print(rows.map(auditEntryJson), rows.length === 0 ? [noEntries(asked)] : rows.map(lineOf));
    if (json || elsewhere === null || elsewhere.entries === 0) return;
    // On standard error, because scripts take the entries from standard output.
    process.stderr.write(`${elsewhereText(elsewhere)}\n`);
  },
};
