import { heldEmails } from "../../../projections/emails/holdAfterRestore.ts";
import { allDueAt, waitingEmails } from "../../../projections/emails/mailQueue.ts";
import { projections } from "../../../projections/index.ts";
import { heldVerificationMails } from "../../../projections/senders.ts";
import { heldWebhooks } from "../../../projections/webhookDeliveries/holdAfterRestore.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { resumeEmail } from "../../commands/email/resumeEmail.ts";
import { resumeDelivery } from "../../commands/instance/resumeDelivery.ts";
import type { Restoration } from "../../domain/instance/state.ts";
import { counted } from "../../kernel/text/readableNumbers.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import { LOG_START, type Position } from "../../ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";
import { readMeta } from "../../readModels/generations/checkpoint.ts";
import { hasCatalog, openCatalog } from "../../readModels/generations/generationCatalog.ts";
import { openCurrentToRead } from "../../readModels/generations/openCurrentToRead.ts";
import { openTemporaryDatabase } from "../../readModels/generations/temporaryDatabase.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, refuse } from "../program/command.ts";
import { type OpenForCommand, withLog } from "../program/openStoreForCommand.ts";

/** Messages to read from the read model at once. */
const PAGE_EMAILS = 1_000;

/** What was held since the log was restored or lost its newest events, and now continues. */
interface Released {
  readonly restored: Restoration;
  readonly emails: number;
  readonly webhookDeliveries: number;
  readonly verificationMails: number;
  /** How many may have been delivered, which this log does not know. */
  readonly mayRepeat: number;
}

interface Resumed {
  readonly resumed: number;
  readonly mayRepeat: number;
  readonly released: Released | null;
}

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

async function release(open: OpenForCommand, models: Models): Promise<Released | "notYetKnown" | null> {
  const { deps } = open;
  const { instance } = await deps.instanceStatus.get();
  if (!instance?.isHeld) return null;
  const [messages, senders, webhooks] = ["emails", "senders", "webhook-deliveries"].map((name) =>
    models.get(name),
  );
  if (!messages || !senders || !webhooks) return "notYetKnown";
  const emails = heldEmails(messages);
  const webhookDeliveries = heldWebhooks(webhooks);
  const verificationMails = heldVerificationMails(senders);
  const restored = await resumeDelivery(deps.store, systemCommandContext("cli"));
  if (restored === null) return null;
  const all = emails.held + webhookDeliveries + verificationMails;
  const mayRepeat = restored.sealed ? emails.claimed : all;
  return { restored, emails: emails.held, webhookDeliveries, verificationMails, mayRepeat };
}

async function resumeCopied({ store }: Dependencies, copy: ReadDatabaseFile) {
  const total = { resumed: 0, mayRepeat: 0 };
  for (const { id, workspaceId } of copy.rows("SELECT * FROM waiting ORDER BY rowid")) {
    const context = { ...systemCommandContext("cli"), workspaceId: String(workspaceId) };
    const { outcome, ambiguous } = await resumeEmail(store, String(id), context);
    if (outcome === "resumed") total.resumed += 1;
    if (outcome === "resumed" && ambiguous) total.mayRepeat += 1;
  }
  return total;
}

/**
 * Calls `release`, and then makes every deferred message due now, once. Millions may wait, so their ids are kept in a
 * temporary file. It is written first: without room for it nothing is released.
 */
export async function resumeDeferred(
  { deps, storage }: Pick<OpenForCommand, "deps" | "storage">,
  emails: ReadDatabaseFile,
  release: () => Promise<Released | "notYetKnown" | null>,
): Promise<Resumed | "notYetKnown"> {
  using copy = openTemporaryDatabase(storage, "resume");
  copyWaiting(emails, copy.db, deps.clock.now());
  const released = await release();
  return released === "notYetKnown" ? released : { ...(await resumeCopied(deps, copy.db)), released };
}

async function resumeAll(open: OpenForCommand): Promise<Resumed | "notYetKnown"> {
  const { restoredPosition } = await open.deps.instanceStatus.get();
  const models = openModels(open, restoredPosition ?? LOG_START);
  try {
    const emails = models.get("emails");
    if (emails !== undefined) return await resumeDeferred(open, emails, () => release(open, models));
    const released = await release(open, models);
    return released === "notYetKnown" ? released : { resumed: 0, mayRepeat: 0, released };
  } finally {
    for (const db of models.values()) db.close();
  }
}

function resumedJson({ resumed, mayRepeat, released }: Resumed) {
  return { resumed, may_repeat: mayRepeat, released: released && releasedJson(released) };
}

function releasedJson({ restored, emails, webhookDeliveries, verificationMails, mayRepeat }: Released) {
  const { copyId, from, takenAt, sealed, at } = restored;
  return {
    restored: { copy_id: copyId, from, taken_at: rfc3339(takenAt), sealed, at: rfc3339(at) },
    emails,
    webhook_deliveries: webhookDeliveries,
    verification_mails: verificationMails,
    may_repeat: mayRepeat,
  };
}

/** What was resumed, for people. */
export function resumedLines({ resumed, mayRepeat, released }: Resumed): readonly string[] {
  const repeats = `${mayRepeat} of them may have been sent before`;
  if (released === null) return [`${counted(resumed, "message")} resumed, ${repeats}`];
  const { restored, emails, webhookDeliveries, verificationMails } = released;
  const { from, takenAt, at } = restored;
  const isLoss = from === "loss";
  const since = isLoss ? "the log was found to lack its newest events" : "the log was restored";
  const repeatsOf = isLoss
    ? `before ${rfc3339(at)}, when that was found`
    : `after ${rfc3339(takenAt)}, when the copy was taken`;
  return [
    `held since ${since}, and resumed now: ${counted(emails, "message")}, ${counted(webhookDeliveries, "webhook delivery", "webhook deliveries")} and ${counted(verificationMails, "verification mail")}`,
    `${released.mayRepeat} of them may be repeats of what was delivered ${repeatsOf}`,
    `deferred besides, and resumed now: ${counted(resumed, "message")}, ${repeats}`,
  ];
}

const NOT_YET_KNOWN =
  "what is held is not known yet: start the service on this DATA_DIR and wait until it is ready; nothing leaves before you resume";

export const deliveryResume: Command = {
  name: "delivery resume",
  summary: "Release held mail, and try deferred mail again now",
  description:
    "Mail is deferred when a relay refuses it temporarily, and held after the log was restored or imported, or lost its newest events. Prints how many messages go on, and how many of them may have been sent before.",
  examples: ["postledger delivery resume"],
  async run(invocation) {
    const done = await withLog(invocation.config, resumeAll);
    if (done === "notYetKnown") refuse(NOT_YET_KNOWN);
    invocation.print(resumedJson(done), resumedLines(done));
  },
};
