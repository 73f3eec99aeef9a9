import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { invariant } from "../../kernel/assert.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import type { MailOutcome } from "../../kernel/outcome/mailOutcome.ts";
import { excerpt } from "../../kernel/text/textLength.ts";
import { type Clock, leftMs } from "../../ports/clock.ts";
import type { MailMessage, MailSession, MailTransport } from "../../ports/mail/mailTransport.ts";
import { syncFolder, writeDurably } from "../durableFiles/durableFile.ts";
import { buildMime } from "./mimeMessage.ts";
import { createSemaphore } from "./semaphore.ts";

const REASON_CHARS_MAX = 300;

export interface OutboxOptions {
  /** Where the `.eml` files go; created if missing. */
  readonly directory: string;
  readonly sessionsMax: number;
}

/**
 * Writes each message durably to `<id>.eml`, with the bytes that a relay would get; the file and its name are on disk
 * before `send` returns. The same message replaces the same file. A disk fault is `broken`.
 */
export function createEmlFileTransport(options: OutboxOptions, clock: Clock): MailTransport {
  const directory = resolve(options.directory);
  const permits = createSemaphore(options.sessionsMax);
  let closed = false;
  return {
    name: "outbox",
    sessionsMax: options.sessionsMax,
    async session(signal) {
      if (await permits.take(signal))
        return { kind: "session", session: createSession(directory, clock, permits.give) };
      const reason = closed ? "the transport is closed" : "given up while waiting";
      return { kind: "broken", trouble: "outbox_unwritable", reason };
    },
    async close() {
      closed = true;
      permits.close();
    },
  };
}

function createSession(directory: string, clock: Clock, give: () => void): MailSession {
  let released = false;
  return {
    send: (message, { handover }) => deliver(directory, message, () => leftMs(clock, handover) > 0),
    release() {
      if (released) return;
      released = true;
      give();
    },
  };
}

async function deliver(directory: string, message: MailMessage, inTime: () => boolean): Promise<MailOutcome> {
  if (!inTime()) return { kind: "outOfTime" };
  try {
    invariant(/^[0-9A-Za-z-]+$/.test(message.id), "a message id is a file name");
    const path = join(directory, `${message.id}.eml`);
    await makeDirectory(directory);
    // Named for the message, so that an erasure finds what a dead process has left of it.
    await writeDurably(path, buildMime(message), `${path}.${randomUUID()}.tmp`);
    return { kind: "accepted", reply: "250 written to the outbox" };
  } catch (error) {
    return { kind: "broken", stage: "data", reason: reasonOf(error) };
  }
}

/** Tenants see the reason, so a system error gives its code and not its message, which has the path. */
function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined
    ? excerpt(String(error), REASON_CHARS_MAX)
    : `the outbox cannot be written: ${code}`;
}

/** Called for every message, because people empty an outbox by removing its directory. */
async function makeDirectory(directory: string): Promise<void> {
  const first = await mkdir(directory, { recursive: true, mode: FOLDER_MODE });
  if (first === undefined) return;
  // Each new name is an entry in the directory above it.
  for (let made = directory; made.length >= first.length; made = dirname(made))
    await syncFolder(dirname(made));
}
