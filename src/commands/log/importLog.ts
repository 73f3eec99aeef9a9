import { restoreInstance } from "../../domain/instance/decisions.ts";
import type { LogImportEvent } from "../../domain/logImport/events.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { decided } from "../../kernel/event/decider.ts";
import { UnreadableEventError } from "../../kernel/event/eventCodec.ts";
import { newId } from "../../kernel/ids.ts";
import { epochMs } from "../../kernel/time.ts";
import { type EventStore, LOG_START, type RecordedEvent } from "../../ports/eventStore.ts";
import { instanceAggregate, logImportAggregate } from "../aggregateDefinitions.ts";
import { countUnsealed } from "../audit/auditSealer.ts";
import { load, transact } from "../transact.ts";
import {
  checkLine,
  type ExportEnd,
  ExportError,
  type ExportHeader,
  eventLine,
  type MissingRevisions,
  parseHeader,
  parseLine,
} from "./exportFormat.ts";
import { ImportAppender } from "./importAppender.ts";
import { isPortableEvent } from "./isPortableEvent.ts";

/** All lines of an export in order, in pages of bounded size. Each call starts over. */
type ExportLines = () => AsyncIterable<readonly string[]>;

interface ImportOptions {
  /** Appends must reach the log in the order of their calls. */
  readonly store: EventStore;
  readonly lines: ExportLines;
  readonly header: ExportHeader;
  readonly end: ExportEnd;
  readonly context: CommandContext;
  readonly onProgress: (phase: "import" | "verify", events: number) => void;
}

export interface Imported {
  readonly events: number;
  /** Revisions that were erased or truncated: the import wrote placeholders for them and truncated those. */
  readonly missing: number;
  /** Events that an earlier, interrupted run had already written. */
  readonly found: number;
  /** Events that no seal in the export names: nothing shows whether they were changed. Null: its seals are unreadable. */
  readonly unsealed: number | null;
}

/** How many revisions a log may have lost: this many in any case, and this many more for each event left. */
const MISSING_MAX_BASE = 1_000_000;
const MISSING_MAX_PER_EVENT = 10;

/**
 * Checks lines one by one, and counts missing revisions: each needs a placeholder, so without a bound a few lines could
 * ask for any number.
 */
class LineCount {
  private total = 0;
  events = 0;
  private largest = { revisions: 0, line: 0, stream: "" };

  take(text: string, line: number): void {
    // The first line is the header.
    if (line === 1) return;
    try {
      checkLine(text);
    } catch (error) {
      throw error instanceof ExportError
        ? new ExportError(`line ${line} of the export: ${error.message}`)
        : error;
    }
    const missing = missingIn(text);
    if (missing === null) {
      this.events += 1;
      return;
    }
    const { stream, from, through } = missing;
    const revisions = through - from + 1;
    if (revisions < 1)
      throw new ExportError(`line ${line} of the export reports a gap that ends before it begins`);
    this.total += revisions;
    if (revisions > this.largest.revisions) this.largest = { revisions, line, stream };
  }

  /** Throws {@link ExportError} beyond the bound, and names the line that asks for the most. */
  check(): void {
    const max = MISSING_MAX_BASE + MISSING_MAX_PER_EVENT * this.events;
    if (this.total <= max) return;
    const { revisions, line, stream } = this.largest;
    throw new ExportError(
      `line ${line} of the export says that ${revisions} revisions of ${JSON.stringify(stream)} are missing: that makes ` +
        `${this.total} in all, but a log of ${this.events} events can have lost at most ${max}`,
    );
  }
}

/** Checks that the lines are complete, to the last byte. Throws {@link ExportError}. */
export async function checkExport(lines: ExportLines): Promise<{ header: ExportHeader; end: ExportEnd }> {
  const hasher = new Bun.CryptoHasher("sha256");
  const body = new LineCount();
  let count = 0;
  let header: ExportHeader | null = null;
  let last: string | null = null;
  for await (const page of lines()) {
    for (const line of page) {
      header ??= parseHeader(line);
      count += 1;
      if (last !== null) {
        hasher.update(`${last}\n`);
        body.take(last, count - 1);
      }
      last = line;
    }
  }
  if (header === null || last === null) throw new ExportError("the export is empty");
  const end = last.startsWith('{"end"') ? parseLine(last) : null;
  if (end?.kind !== "end") throw new ExportError("the export was cut short: it has no last line");
  if (hasher.digest("hex") !== end.end.sha256)
    throw new ExportError("the export is damaged: its digest does not match");
  body.check();
  if (body.events !== end.end.events)
    throw new ExportError(`the export is damaged: it has ${body.events} events, and says ${end.end.events}`);
  return { header, end: end.end };
}

/**
 * Imports a log into an empty store: ids, revisions and the order of the log stay the same. After an interrupted run of
 * the same export, compares what is there and continues. At the end it reads back the whole log, compares it line by
 * line, and marks the log as restored, which holds its pending work. Throws {@link ExportError} if the store is not empty
 * or did not keep the order, and `StoreError`.
 */
export async function importLog(options: ImportOptions): Promise<Imported> {
  const { store, header, end, context } = options;
  const copyId = await begin(options);
  const writer = new ImportAppender(store, header);
  const { state } = await load(store, instanceAggregate);
  // An earlier run may have been interrupted after it had compared everything.
  const isCompared = state?.restored?.copyId === copyId;
  const found = isCompared ? end.events : await bring(options, writer);
  const { sealed, exportedAt } = header;
  const taken = { from: "import" as const, takenAt: epochMs(exportedAt), sealed };
  const restoration = { copyId, ...taken, at: context.at };
  await transact(store, instanceAggregate, (now) => restoreInstance(now, restoration), context);
  for await (const missing of missingOf(options.lines)) if (missing.from > 0) await writer.cutOff(missing);
  await writer.finish();
  const unsealed = await unsealedOf(store);
  await note(store, { type: "LogImportFinished", data: { events: end.events } }, context);
  return { events: end.events, missing: end.missing, found, unsealed };
}

async function unsealedOf(store: EventStore): Promise<number | null> {
  try {
    // The last event is the restoration, which is not in the export.
    return (await countUnsealed(store)) - 1;
  } catch (error) {
    if (error instanceof UnreadableEventError) return null;
    throw error;
  }
}

/** Writes what is not there yet, then compares everything. Returns how many events were there before. */
async function bring(options: ImportOptions, writer: ImportAppender): Promise<number> {
  const found = await compareLog(options, { isWhole: false });
  let events = 0;
  for await (const page of linesOf(options.lines)) {
    for (const line of page) {
      if (isEventLine(line)) events += 1;
      const missing = missingIn(line);
      if (missing !== null) await writer.addMissing(missing, events < found);
      else if (events > found) await writeEvent(writer, line);
    }
    options.onProgress("import", events);
  }
  await writer.finish();
  await compareLog(options, { isWhole: true });
  return found;
}

async function writeEvent(writer: ImportAppender, line: string): Promise<void> {
  const parsed = parseLine(line);
  if (parsed.kind === "event") await writer.addEvent(parsed.event, Buffer.byteLength(line));
}

/** Claims the store for this export, unless an earlier run already has. Returns the id of the copy. */
async function begin({ store, header, context }: ImportOptions): Promise<string> {
  const { exportId } = header;
  const { state } = await load(store, logImportAggregate);
  if (state?.isFinished) throw new ExportError("the store holds a log that was imported: it is not empty");
  if (state !== null && state.exportId !== exportId) {
    throw new ExportError("the import of another export into this store was interrupted: empty the store");
  }
  if (state !== null) return state.copyId;
  for await (const { events } of store.readAll(LOG_START, {})) {
    if (events.length > 0)
      throw new ExportError("the store is not empty: a log is imported into an empty one");
  }
  const copyId = newId();
  await note(store, { type: "LogImportStarted", data: { exportId, copyId } }, context);
  return copyId;
}

function note(store: EventStore, event: LogImportEvent, context: CommandContext): Promise<null> {
  return transact(store, logImportAggregate, () => decided(null, event), context);
}

/** The lines between the first and the last, as they are. */
async function* linesOf(lines: ExportLines): AsyncGenerator<readonly string[]> {
  let isFirst = true;
  for await (const page of lines()) {
    yield isFirst ? page.slice(1) : page;
    if (page.length > 0) isFirst = false;
  }
}

/** Whether a line holds an event: it begins as {@link eventLine} writes it. */
function isEventLine(line: string): boolean {
  return line.startsWith('{"stream":');
}

/** The missing revisions in a line; null for an event, and for the last line. */
function missingIn(line: string): MissingRevisions | null {
  const parsed = isEventLine(line) ? null : parseLine(line);
  return parsed?.kind === "missing" ? parsed.missing : null;
}

async function* eventLinesOf(lines: ExportLines): AsyncGenerator<string> {
  for await (const page of linesOf(lines)) for (const line of page) if (isEventLine(line)) yield line;
}

async function* missingOf(lines: ExportLines): AsyncGenerator<MissingRevisions> {
  for await (const page of linesOf(lines)) {
    yield* page.map(missingIn).filter((missing) => missing !== null);
  }
}

/**
 * Walks the store's log and the export in step: every event must equal the next exported one, byte by byte. Returns how
 * many there are; with `isWhole`, none may be missing.
 */
async function compareLog(
  { store, lines, header, onProgress }: ImportOptions,
  { isWhole }: { readonly isWhole: boolean },
): Promise<number> {
  const expected = eventLinesOf(lines);
  let count = 0;
  for await (const { events } of store.readAll(LOG_START, {})) {
    for (const event of events) {
      if (!isPortableEvent(event)) continue;
      const { value } = await expected.next();
      if (value !== eventLine(event)) throw otherwise(event, header);
      count += 1;
    }
    if (isWhole) onProgress("verify", count);
  }
  const { done } = await expected.next();
  await expected.return(undefined);
  if (isWhole && !done) throw new ExportError(`the store holds only the first ${count} events of the export`);
  return count;
}

function otherwise({ stream, revision }: RecordedEvent, { exportId }: ExportHeader): ExportError {
  const where = `revision ${revision} of ${stream}`;
  return new ExportError(
    `the store's log is not that of the export ${exportId} at ${where}: empty the store`,
  );
}
