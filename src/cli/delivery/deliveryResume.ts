import { type HeldEmails, heldEmails } from "../../../projections/emails/holdAfterRestore.ts";
import { allDueAt, waitingEmails } from "../../../projections/emails/mailQueue.ts";
import { projections } from "../../../projections/index.ts";
import { heldVerificationMails } from "../../../projections/senders.ts";
import { heldWebhooks } from "../../../projections/webhookDeliveries/holdAfterRestore.ts";
import { readEmailState } from "../../commands/email/readEmail.ts";
import { resumeEmail } from "../../commands/email/resumeEmail.ts";
import { resumeDelivery } from "../../commands/instance/resumeDelivery.ts";
import { resumeHeld } from "../../domain/email/decisions.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { LOG_START, type Position } from "../../ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";
import { hasCatalog, openCatalog } from "../../readModels/generations/generationCatalog.ts";
import { readMeta } from "../../readModels/generations/generationMeta.ts";
import { openCurrentToRead } from "../../readModels/generations/openCurrentToRead.ts";
import { openTemporaryDatabase } from "../../readModels/generations/temporaryDatabase.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { dataLocationLine } from "../output/dataLocation.ts";
import { type Command, type Invocation, type Option, refuse, UsageError } from "../program/command.ts";
import { type OpenForCommand, withLog } from "../program/openStoreForCommand.ts";
import {
  type ExceptedEmails,
  type ExceptOptions,
  readExceptedEmails,
  SKIP_UNKNOWN,
} from "./exceptedEmails.ts";
import { type Released, type Resumed, resumedJson, resumedLines } from "./resumedReport.ts";

/** Messages to read from the read model at once. */
const PAGE_EMAILS = 1_000;

/**
 * Copies every message waiting now into a table of its own. A service may move rows meanwhile, and what it defers again no
 * longer waits.
 */
function copyWaiting(db: ReadDatabaseFile, copy: ReadDatabaseFile, now: EpochMs): void {
  copy.run("CREATE TABLE waiting (id TEXT NOT NULL, workspaceId TEXT NOT NULL)");
  db.beginSnapshot();
  copy.begin();
  for (let after = allDueAt(now); ; ) {
    const page = waitingEmails(db, after, PAGE_EMAILS);
    for (const { id, workspaceId } of page) copy.run("INSERT INTO waiting VALUES (?, ?)", id, workspaceId);
    const last = page.at(-1);
    if (last === undefined) break;
    after = last;
  }
  copy.commit();
  db.rollback();
}

const NEEDED: ReadonlySet<string> = new Set(["emails", "senders", "webhook-deliveries"]);

type Models = ReadonlyMap<string, ReadDatabaseFile>;

/** The current read models of this copy of the log that have reached `position`, open for reading. */
function openModels({ storage }: OpenForCommand, position: Position): Models {
  const models = new Map<string, ReadDatabaseFile>();
  if (!hasCatalog(storage.directory)) return models;
  using catalog = openCatalog(storage.databases, storage.directory);
  for (const { name, version } of projections.filter((projection) => NEEDED.has(projection.name))) {
    const opened = openCurrentToRead(storage, catalog, name);
    if (opened === undefined) continue;
    const { entry, db } = opened;
    const { logId, checkpoint } = readMeta(db);
    const isOurs = entry.version === version && logId === storage.logId;
    if (isOurs && checkpoint >= position) models.set(name, db);
    else db.close();
  }
  return models;
}

/** What is held since a restoration. */
interface Held {
  readonly restoredAt: EpochMs;
  readonly emails: HeldEmails;
  readonly webhookDeliveries: number;
  readonly verificationMails: number;
}

/** Null if nothing is held; `notYetKnown` where not all read models are there. */
async function readHeld({ deps }: OpenForCommand, models: Models): Promise<Held | "notYetKnown" | null> {
  const { instance } = await deps.instanceStatus.get();
  if (!instance?.isHeld || instance.restored === null) return null;
  const [messages, senders, webhooks] = ["emails", "senders", "webhook-deliveries"].map((name) =>
    models.get(name),
  );
  if (!messages || !senders || !webhooks) return "notYetKnown";
  const restoredAt = instance.restored.at;
  return {
    restoredAt,
    emails: heldEmails(messages, restoredAt),
    webhookDeliveries: heldWebhooks(webhooks),
    verificationMails: heldVerificationMails(senders),
  };
}

/** Ends the hold; a dry run only says what it would release. Null if nothing is held. */
async function release(
  { deps }: OpenForCommand,
  held: Held | null,
  isDryRun: boolean,
): Promise<Released | null> {
  if (held === null) return null;
  const restored = isDryRun
    ? ((await deps.instanceStatus.get()).instance?.restored ?? null)
    : await resumeDelivery(deps.store, systemCommandContext("cli"));
  if (restored === null) return null;
  const { emails, webhookDeliveries, verificationMails } = held;
  const all = emails.held - emails.notYetDue + webhookDeliveries + verificationMails;
  const mayRepeat = restored.sealed ? emails.claimed : all;
  return { restored, emails: emails.held, webhookDeliveries, verificationMails, mayRepeat };
}

interface DeferredOptions {
  /** Ends the hold. It comes after the list of what is deferred: without room for that nothing is released. */
  readonly release: () => Promise<Released | null>;
  readonly isDryRun: boolean;
  /** The messages that stay as they are; null for none. */
  readonly excepted: Pick<ExceptedEmails, "has"> | null;
}

type Resumption = Pick<Resumed, "resumed" | "mayRepeat" | "released">;

async function resumeCopied(
  { store, clock }: OpenForCommand["deps"],
  copy: ReadDatabaseFile,
  { isDryRun, excepted }: DeferredOptions,
) {
  const total = { resumed: 0, mayRepeat: 0 };
  for (const { id, workspaceId } of copy.rows("SELECT * FROM waiting ORDER BY rowid")) {
    if (excepted?.has(String(id))) continue;
    const context = { ...systemCommandContext("cli"), workspaceId: String(workspaceId) };
    const { outcome, ambiguous } = isDryRun
      ? resumeHeld(await readEmailState(store, String(id)), clock.now()).outcome
      : await resumeEmail(store, String(id), context);
    if (outcome === "resumed") total.resumed += 1;
    if (outcome === "resumed" && ambiguous) total.mayRepeat += 1;
  }
  return total;
}

/**
 * Ends the hold, and then makes every deferred message due now, once. Millions may wait, so their ids are kept in a
 * temporary file.
 */
export async function resumeDeferred(
  { deps, storage }: Pick<OpenForCommand, "deps" | "storage">,
  emails: ReadDatabaseFile,
  options: DeferredOptions,
): Promise<Resumption> {
  using copy = openTemporaryDatabase(storage, "resume");
  copyWaiting(emails, copy.db, deps.clock.now());
  const released = await options.release();
  return { ...(await resumeCopied(deps, copy.db, options)), released };
}

interface ResumeOptions {
  /** Null: everything goes on. */
  readonly except: ExceptOptions | null;
  readonly isDryRun: boolean;
}

/** Excepts what the file names, all of it before anything goes on, and then resumes the rest. */
async function resumeOthers(
  open: OpenForCommand,
  { emails, held }: { readonly emails: ReadDatabaseFile; readonly held: Held | null },
  { except, isDryRun }: ResumeOptions,
): Promise<Resumed> {
  if (except === null) {
    const options = { isDryRun, excepted: null, release: () => release(open, held, isDryRun) };
    return { isDryRun, excepted: null, ...(await resumeDeferred(open, emails, options)) };
  }
  using excepted = await readExceptedEmails(open, { emails, restoredAt: held?.restoredAt ?? null }, except);
  const recorded = isDryRun ? excepted.count : await excepted.record(open.deps.store);
  const others = held && { ...held, emails: excepted.held };
  const options = { isDryRun, excepted, release: () => release(open, others, isDryRun) };
  const resumption = await resumeDeferred(open, emails, options);
  const alreadyEnded = excepted.alreadyEnded + excepted.count - recorded;
  return { isDryRun, excepted: { recorded, alreadyEnded, unknown: excepted.unknown }, ...resumption };
}

async function resumeAll(open: OpenForCommand, options: ResumeOptions): Promise<Resumed | "notYetKnown"> {
  const { restoredPosition } = await open.deps.instanceStatus.get();
  const models = openModels(open, restoredPosition ?? LOG_START);
  try {
    const held = await readHeld(open, models);
    const emails = models.get("emails");
    if (held === "notYetKnown" || (options.except !== null && emails === undefined)) return "notYetKnown";
    if (emails !== undefined) return await resumeOthers(open, { emails, held }, options);
    return { isDryRun: options.isDryRun, excepted: null, resumed: 0, mayRepeat: 0, released: null };
  } finally {
    for (const db of models.values()) db.close();
  }
}

const NOT_YET_KNOWN =
  "the read models are not ready: start the service on this DATA_DIR, wait for /health/ready, and run this again";

const EXCEPT: Option = {
  name: "except",
  value: "<file>",
  help: "file with one message id or Message-ID per line; these are recorded as sent and not sent again; `-` reads standard input (default: none)",
};

const SKIP: Option = {
  name: SKIP_UNKNOWN,
  value: null,
  help: "ignore messages in the --except file that this log does not have (default: refuse the file)",
};

const DRY_RUN: Option = {
  name: "dry-run",
  value: null,
  help: "count what would be released, and check the --except file if there is one (default: release)",
};

/** Throws a {@link UsageError} for an option that means nothing by itself. */
function exceptOf({ option, config }: Invocation): ExceptOptions | null {
  const file = option(EXCEPT.name);
  const skipsUnknown = option(SKIP.name) !== undefined;
  if (file !== undefined) return { file, skipsUnknown, policy: config.deliveryPolicy };
  if (skipsUnknown)
    throw new UsageError(`--${SKIP.name} is about the file of --${EXCEPT.name}, which is missing`);
  return null;
}

export const deliveryResume: Command = {
  name: "delivery resume",
  summary: "Release held mail, and try deferred mail again now",
  description:
    "Mail is deferred when a relay refuses it temporarily, and held after the log was restored or imported, or lost its " +
    "newest events. Prints how many messages go on, and how many of them may have been sent before. The file of --except " +
    "is checked as a whole first. Messages in it that have ended are counted; lines that begin with # are comments. If " +
    "the command is interrupted, run it again with the same file.",
  options: [EXCEPT, SKIP, DRY_RUN],
  examples: [
    "postledger delivery resume",
    "postledger delivery resume --except sent.txt --dry-run",
    "postledger delivery resume --except - < sent.txt",
  ],
  async run(invocation) {
    const options = {
      except: exceptOf(invocation),
      isDryRun: invocation.option(DRY_RUN.name) !== undefined,
    };
    const done = await withLog(invocation.config, (open) => resumeAll(open, options), {
      writes: !options.isDryRun,
    });
    if (done === "notYetKnown") refuse(NOT_YET_KNOWN);
    const { config } = invocation;
    const lines = [dataLocationLine(config), ...resumedLines(done)];
    invocation.print({ data_dir: config.dataDir, ...resumedJson(done) }, lines);
  },
};
