import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { parseJson } from "../../kernel/text/json.ts";
import { epochMs, isTimeAsWritten } from "../../kernel/time.ts";
import { nullIfMissing, readRegular, writeDurably } from "../durableFiles/durableFile.ts";

const FILE = "following.json";
/** More than any status takes. */
const BYTES_MAX = 4_096;

/** How far a copy is that is kept up to date. */
export interface FollowStatus {
  readonly logId: string;
  /** When the last round began (RFC 3339): the copy holds everything that was in the log by then. */
  readonly at: string;
  /** The number of events in the copy, which is also the position of the last one. */
  readonly events: number;
  /** How often a round begins, in milliseconds; null: whenever somebody starts one. Absent: nobody has said. */
  readonly everyMs?: number | null;
  /** The last file of content in the copy that was read for changed bytes; absent: the first comes next. */
  readonly readTo?: string;
  /** The position of the last event that was compared with the log's; absent or 0: the first comes next. */
  readonly comparedTo?: number;
  /** The position of an event that is not as it is in the log: one of the two is damaged. */
  readonly differsAt?: number;
}

/** Writes the status into the directory of the copy, durably and at once. */
export async function writeFollowStatus(directory: string, status: FollowStatus): Promise<void> {
  await writeDurably(join(directory, FILE), Buffer.from(`${JSON.stringify(status)}\n`));
}

/** The status in the directory of a copy; null if there is none, or it is not as we write it. Throws if nobody can tell. */
export async function readFollowStatus(directory: string): Promise<FollowStatus | null> {
  const text = await textOf(join(directory, FILE));
  const told = ((text && parseJson(text)) || {}) as Partial<Record<keyof FollowStatus, unknown>>;
  const { logId, at, events, everyMs, readTo, comparedTo, differsAt } = told;
  if (typeof logId !== "string" || typeof at !== "string" || !isPastTime(at)) return null;
  if (!isCount(events)) return null;
  const rounds = everyMs === null || isCount(everyMs) ? { everyMs } : {};
  return {
    logId,
    at,
    events,
    ...rounds,
    ...(typeof readTo === "string" ? { readTo } : {}),
    ...(isCount(comparedTo) ? { comparedTo } : {}),
    ...(isCount(differsAt) ? { differsAt } : {}),
  };
}

/** The text of a small regular file; null for anything else. Others can write to the disk of a copy. */
async function textOf(path: string): Promise<string | null> {
  const found = await lstat(path).catch(nullIfMissing);
  if (!found?.isFile()) return null;
  return (await readRegular(path, BYTES_MAX))?.toString() ?? null;
}

function isPastTime(text: string): boolean {
  return isTimeAsWritten(text) && epochMs(text) <= Date.now();
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
