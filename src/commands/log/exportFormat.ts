import { isUuid } from "../../kernel/ids.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { isObject, type JsonObject, parseJson } from "../../kernel/text/json.ts";
import { epochMs } from "../../kernel/time.ts";
import { APPEND_BYTES_MAX, type RecordedEvent } from "../../ports/eventStore.ts";
import { isPortableEvent } from "./isPortableEvent.ts";

/** A line holds bytes as Base64, which takes four characters for three of them, and names besides. */
const EVENT_LINE_BYTES_MAX = Math.ceil((APPEND_BYTES_MAX * 4) / 3) + 4_096;
const CONTROL_CHARACTERS = /\p{Cc}/u;
/** The format of the lines; an import refuses any other. */
const FORMAT = 1;
/** The prefix of an event store server's own streams and types. */
const SERVERS_PREFIX = "$";

/** The first line of an export: which log it comes from, and what is needed to open it. */
export interface ExportHeader {
  readonly postledger: "log";
  readonly format: typeof FORMAT;
  readonly exportId: string;
  readonly exportedAt: string;
  readonly logId: string;
  readonly contentStoreId: string;
  /** As the log holds it: MASTER_KEY is right if it opens this. */
  readonly sealedDataKey: string;
  /** Whether the log was frozen when it was exported. */
  readonly sealed: boolean;
}

/** Revisions that no longer exist: erased or truncated. */
export interface MissingRevisions {
  readonly stream: string;
  readonly from: number;
  readonly through: number;
}

/** The last line: an export without it is incomplete. */
export interface ExportEnd {
  readonly events: number;
  /** Revisions, not gaps. */
  readonly missing: number;
  /** Of all lines before this one, with their line feeds, in lower-case hex. */
  readonly sha256: string;
}

/** An event as a line holds it: as recorded, without its position. */
export type ExportedEvent = Omit<RecordedEvent, "position">;

type LogLine =
  | { readonly kind: "event"; readonly event: ExportedEvent }
  | { readonly kind: "missing"; readonly missing: MissingRevisions }
  | { readonly kind: "end"; readonly end: ExportEnd };

/** The export cannot be used. The message says why, for people. */
export class ExportError extends Error {
  override readonly name = "ExportError";
}

export function headerLine(facts: Omit<ExportHeader, "postledger" | "format">): string {
  return JSON.stringify({ postledger: "log", format: FORMAT, ...facts } satisfies ExportHeader);
}

/** An event gives the same line whichever store it is read from. */
export function eventLine({ stream, revision, id, type, data, metadata }: ExportedEvent): string {
  const payload = data instanceof Uint8Array ? { bytes: data.toBase64() } : { data };
  return JSON.stringify({ stream, revision, id, type, ...payload, metadata });
}

export function missingLine(missing: MissingRevisions): string {
  return JSON.stringify({ missing });
}

export function endLine(end: ExportEnd): string {
  return JSON.stringify({ end });
}

const HEADER_TEXTS = ["exportId", "exportedAt", "logId", "contentStoreId", "sealedDataKey"] as const;

/** Throws {@link ExportError} unless this is the first line of an export that this version can read. */
export function parseHeader(line: string | undefined): ExportHeader {
  const value = line === undefined ? null : objectIn(line);
  if (value?.postledger !== "log")
    throw new ExportError(`this is not an export of Postledger: \`${POSTLEDGER} log export\` writes one`);
  if (value.format !== FORMAT) {
    throw new ExportError(`the export is of format ${String(value.format)}, this version reads ${FORMAT}`);
  }
  const notText = HEADER_TEXTS.find((name) => typeof value[name] !== "string");
  if (notText !== undefined) throw damaged(notText);
  if (typeof value.sealed !== "boolean") throw damaged("sealed");
  if (Number.isNaN(epochMs(String(value.exportedAt)))) throw damaged("exportedAt");
  return value as unknown as ExportHeader;
}

/** Throws {@link ExportError}. */
export function parseLine(line: string): LogLine {
  const value = parsed(line);
  if (isObject(value.missing)) {
    const missing = missingOf(value.missing);
    requireOurs({ stream: missing.stream, type: "" });
    return { kind: "missing", missing };
  }
  if (isObject(value.end)) return { kind: "end", end: endOf(value.end) };
  const { stream, revision, id, type, metadata } = value;
  if (typeof stream !== "string") throw damaged("stream");
  if (typeof type !== "string") throw damaged("type");
  if (typeof id !== "string" || !isUuid(id)) throw damaged("id");
  if (!isCount(revision)) throw damaged("revision");
  if (!isObject(metadata)) throw damaged("metadata");
  requireOurs({ stream, type });
  const event = { stream, revision, id, type, data: dataOf(value), metadata: metadata as JsonObject };
  return { kind: "event", event };
}

/**
 * Checks a line between the first and the last. Throws {@link ExportError} if it is not as an export writes it, which the
 * comparison with the store's log would only find when half of it is there.
 */
export function checkLine(line: string): void {
  const parsed = parseLine(line);
  if (parsed.kind === "end") throw new ExportError("it is damaged: an end before the end");
  if (parsed.kind === "event" && Buffer.byteLength(line) > EVENT_LINE_BYTES_MAX)
    throw new ExportError(`its event has more than the ${APPEND_BYTES_MAX} bytes that a log takes`);
  if (textOf(parsed) !== line) throw new ExportError("it is damaged: no export writes it in this way");
}

function textOf(parsed: Exclude<LogLine, { kind: "end" }>): string {
  try {
    return parsed.kind === "event" ? eventLine(parsed.event) : missingLine(parsed.missing);
  } catch {
    // `JSON.stringify` goes less deep than `JSON.parse`.
    throw new ExportError("it is damaged: its values are nested too deeply");
  }
}

/** A server's reserved names would be commands to it, with our rights; other foreign names would stop the import. */
function requireOurs(event: { readonly stream: string; readonly type: string }): void {
  const names = [event.stream, event.type];
  const isServers = names.some((name) => name.startsWith(SERVERS_PREFIX));
  // A store would cut a name off at a NUL.
  const isText = names.every((name) => !CONTROL_CHARACTERS.test(name));
  if (isServers || !isText || !isPortableEvent(event))
    throw new ExportError(`no log of Postledger holds such an event: ${JSON.stringify(names)}`);
}

function missingOf({ stream, from, through }: Fields): MissingRevisions {
  if (typeof stream !== "string" || !isCount(from) || !isCount(through)) throw damaged("missing");
  return { stream, from, through };
}

function endOf({ events, missing, sha256 }: Fields): ExportEnd {
  if (!isCount(events) || !isCount(missing) || typeof sha256 !== "string") throw damaged("end");
  return { events, missing, sha256 };
}

function dataOf({ data, bytes }: Fields): object | Uint8Array {
  if (typeof bytes === "string") return bytesOf(bytes);
  if (typeof data === "object" && data !== null) return data;
  throw damaged("data");
}

function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.fromBase64(base64);
  } catch {
    throw damaged("bytes");
  }
}

type Fields = Readonly<Record<string, unknown>>;

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function damaged(member: string): ExportError {
  return new ExportError(`it is damaged: ${member} is missing or wrong`);
}

function parsed(line: string): Fields {
  const value = objectIn(line);
  if (value === null) throw new ExportError("it is damaged: it is no JSON object");
  return value;
}

function objectIn(line: string): Fields | null {
  const value = parseJson(line);
  return isObject(value) ? value : null;
}
