import { type HeldEmails, heldAs, heldEmails } from "../../../projections/emails/holdAfterRestore.ts";
import { boundedLines } from "../../adapters/durableFiles/boundedLines.ts";
import { readEmailState } from "../../commands/email/readEmail.ts";
import { recordSentByOperator } from "../../commands/email/recordSentByOperator.ts";
import type { DeliveryPolicy } from "../../domain/email/delivery/deliveryPolicy.ts";
import { isHeldForOperator } from "../../domain/email/delivery/retrySchedule.ts";
import { emailIdOfMessageId } from "../../domain/email/messageId.ts";
import { type EmailState, isTerminal } from "../../domain/email/state.ts";
import { forEachConcurrently } from "../../kernel/concurrency/forEachConcurrently.ts";
import { isUuid } from "../../kernel/ids.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { allRows, type ReadDatabaseFile } from "../../ports/readDatabase.ts";
import { openTemporaryDatabase } from "../../readModels/generations/temporaryDatabase.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { CommandFailure, refuse } from "../program/command.ts";
import { type InputFile, openInputFile, refuseUnreadable } from "../program/inputFile.ts";
import type { OpenForCommand } from "../program/openStoreForCommand.ts";

/** Longer than any Message-ID (RFC 5322 §2.1.1). */
const LINE_BYTES_MAX = 1_000;
/** The lines of a file, each with a message to read from the log. */
const LINES_MAX = 10_000_000;
/** Faults to print, the first ones. */
const FAULTS_SHOWN_MAX = 10;
/** Messages to read or write at once: the log flushes such writes to disk together. */
const CALLS_AT_ONCE = 64;

/** The option whose absence makes unknown messages a fault. */
export const SKIP_UNKNOWN = "skip-unknown";

export interface ExceptOptions {
  /** Its path; `-`: standard input. */
  readonly file: string;
  /** Whether to ignore messages that the log does not have. */
  readonly skipsUnknown: boolean;
  readonly policy: DeliveryPolicy;
}

/** What is known of the hold since a restoration. */
interface HoldToCheck {
  /** The read model of messages. */
  readonly emails: ReadDatabaseFile;
  /** When the log was restored; null if nothing is held. */
  readonly restoredAt: EpochMs | null;
}

/** The messages that a file excepts, after the check of the whole file. */
export interface ExceptedEmails extends Disposable {
  /** How many are to be recorded as sent. */
  readonly count: number;
  /** How many of the file had ended before. */
  readonly alreadyEnded: number;
  /** How many of the file the log does not have. */
  readonly unknown: number;
  /** What is held besides. */
  readonly held: HeldEmails;
  /** Whether the message is one of them. */
  has(id: string): boolean;
  /** Records that they were sent, and returns of how many that was new. A repeat records the rest. Throws `StoreError`. */
  record(store: EventStore): Promise<number>;
}

const NOTHING_HELD: HeldEmails = { held: 0, claimed: 0, notYetDue: 0 };

/** What is wrong with a message of the file. */
const FAULTS = {
  unknown: "names no message of this log",
  simulated: "names simulated mail, which no relay can have sent",
  notHeld: "names a message that is not held and is delivered anyway",
} as const;

interface NamedEmail {
  readonly id: string;
  readonly line: number;
}

/** The faults of a file: the first ones, and how many there are. */
class LineFaults {
  private count = 0;
  private first: readonly { readonly line: number; readonly what: string }[] = [];
  private hasUnknown = false;

  add(line: number, what: string): void {
    this.count += 1;
    this.hasUnknown ||= what === FAULTS.unknown;
    this.first = [...this.first, { line, what }]
      .sort((one, other) => one.line - other.line)
      .slice(0, FAULTS_SHOWN_MAX);
  }

  /** Ends the command if there are any. Nothing of the file's content is repeated. */
  refuse(): void {
    if (this.count === 0) return;
    const more = this.count - this.first.length;
    const lines = [
      "nothing was changed:",
      ...this.first.map(({ line, what }) => `  line ${grouped(line)} ${what}`),
      ...(more > 0 ? [`  and ${grouped(more)} more`] : []),
    ];
    const hint = `--${SKIP_UNKNOWN} ignores messages that this log does not have, such as those accepted after the copy`;
    throw new CommandFailure("refused", lines.join("\n"), this.hasUnknown ? hint : null);
  }
}

/** Reads the file into the table `named`: each message once, with its first line. */
async function readNamed(input: InputFile, db: ReadDatabaseFile, faults: LineFaults): Promise<void> {
  db.run("CREATE TABLE named (line INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)");
  db.begin();
  let line = 0;
  const take = (text: string | null) => {
    line += 1;
    if (line > LINES_MAX)
      refuse(`${input.name} has more than ${grouped(LINES_MAX)} lines: leave out what names no held message`);
    const item = text?.trim();
    if (item === undefined) faults.add(line, `has more than ${grouped(LINE_BYTES_MAX)} bytes`);
    else if (item !== "" && !item.startsWith("#")) {
      const id = isUuid(item) ? item.toLowerCase() : emailIdOfMessageId(item);
      if (id === null) faults.add(line, "is neither the id of a message nor a Message-ID of this service");
      else db.run("INSERT INTO named VALUES (?, ?) ON CONFLICT DO NOTHING", line, id);
    }
  };
  for await (const page of boundedLines(input.stream, LINE_BYTES_MAX, true)) page.forEach(take);
  db.commit();
}

type Standing = "held" | "ended" | keyof typeof FAULTS;

function standingOf(state: EmailState, isHeld: boolean, policy: DeliveryPolicy): Standing {
  if (state === null) return "unknown";
  if (isTerminal(state.status)) return "ended";
  if (state.isSimulated) return "simulated";
  return isHeld || isHeldForOperator(state, policy) ? "held" : "notHeld";
}

function faultOf(standing: Standing, skipsUnknown: boolean): string | null {
  if (standing === "held" || standing === "ended") return null;
  return standing === "unknown" && skipsUnknown ? null : FAULTS[standing];
}

/** The named messages, in the order of their lines, each with its state. */
async function* namedStates(store: EventStore, db: ReadDatabaseFile) {
  const sql = "SELECT id, line FROM named WHERE line > ? ORDER BY line LIMIT ? + 0";
  for (let after = 0; ; ) {
    const page = allRows<NamedEmail>(db, sql, after, CALLS_AT_ONCE);
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.line;
    const states = page.map(async (named) => ({ ...named, state: await readEmailState(store, named.id) }));
    yield* await Promise.all(states);
  }
}

/** Checks the named messages, and puts those that are to be excepted into the table `excepted`. */
async function checkNamed(
  store: EventStore,
  db: ReadDatabaseFile,
  faults: LineFaults,
  { emails, restoredAt, skipsUnknown, policy }: ExceptOptions & HoldToCheck,
) {
  db.run("CREATE TABLE excepted (id TEXT PRIMARY KEY, workspaceId TEXT NOT NULL)");
  const counts = { held: 0, ended: 0, unknown: 0, simulated: 0, notHeld: 0 };
  const left = { ...(restoredAt === null ? NOTHING_HELD : heldEmails(emails, restoredAt)) };
  for await (const { id, line, state } of namedStates(store, db)) {
    const hold = restoredAt === null ? null : heldAs(emails, id, restoredAt);
    const standing = standingOf(state, hold !== null, policy);
    const fault = faultOf(standing, skipsUnknown);
    if (fault !== null) faults.add(line, fault);
    counts[standing] += 1;
    if (standing === "held") db.run("INSERT INTO excepted VALUES (?, ?)", id, state?.workspaceId ?? "");
    // The read model may not know yet that it has ended.
    if (hold !== null) left.held -= 1;
    if (hold === "claimed" || hold === "notYetDue") left[hold] -= 1;
  }
  return { count: counts.held, alreadyEnded: counts.ended, unknown: counts.unknown, held: left };
}

async function record(store: EventStore, db: ReadDatabaseFile): Promise<number> {
  const excepted = db.rows("SELECT id, workspaceId FROM excepted ORDER BY rowid");
  return forEachConcurrently(excepted, CALLS_AT_ONCE, async ({ id, workspaceId }) => {
    const context = { ...systemCommandContext("cli"), workspaceId: String(workspaceId) };
    return (await recordSentByOperator(store, String(id), context)) === "recorded";
  });
}

/**
 * Checks a whole file of messages that are known to have been sent, of any length, one item a line. Throws a
 * {@link CommandFailure} that says what is wrong with it, by line, if anything is.
 */
export async function readExceptedEmails(
  { deps, storage }: Pick<OpenForCommand, "deps" | "storage">,
  hold: HoldToCheck,
  options: ExceptOptions,
): Promise<ExceptedEmails> {
  using undo = new DisposableStack();
  const { db } = undo.use(openTemporaryDatabase(storage, "except"));
  const faults = new LineFaults();
  const input = openInputFile(options.file);
  await readNamed(input, db, faults).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined) throw error;
    refuseUnreadable(input, error);
  });
  hold.emails.beginSnapshot();
  const checking = checkNamed(deps.store, db, faults, { ...options, ...hold });
  const checked = await checking.finally(() => hold.emails.rollback());
  faults.refuse();
  const kept = undo.move();
  return {
    ...checked,
    has: (id) => db.get("SELECT 1 AS found FROM excepted WHERE id = ?", id) !== undefined,
    record: (store) => record(store, db),
    [Symbol.dispose]: () => kept.dispose(),
  };
}
