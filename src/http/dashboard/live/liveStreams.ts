import { SECOND_MS } from "../../../kernel/time.ts";
import { FairShareBudget } from "../../limits/fairShareBudget.ts";
import type { Session } from "../frame/sessions.ts";

/** Open streams per session: one for each visible tab. */
export const STREAMS_PER_SESSION_MAX = 6;
/** Open streams of all sessions. Beyond this, the workspace with the most loses its oldest. */
export const STREAMS_MAX = 500;
/**
 * How often to check subjects for changes, in ms. A page hears of a change at the next check, or when its rest is over.
 */
const POLL_INTERVAL_MS = SECOND_MS;
/** How often to send a heartbeat, in ms: without data, a proxy or client takes the connection for dead. */
const HEARTBEAT_MS = 15 * SECOND_MS;

/** Unread bytes allowed in a stream; beyond this the stream is closed. */
const UNREAD_BYTES_MAX = 16 * 1_024;

export interface Watch {
  readonly session: Session;
  /** The workspace whose share of streams it counts against. */
  readonly workspaceId: string;
  /** Names what is watched: watchers of the same subject share one check. */
  readonly subject: string;
  /** Changes when the subject changes. */
  readonly version: () => Promise<string>;
  /**
   * The shortest time between two announcements, in ms: for subjects that change all the time, where each
   * announcement makes a page reload.
   */
  readonly restMs: number;
  /** The version that the page shows; anything newer is announced at once. */
  readonly shown: string;
}

/** Server-sent events (HTML, section 9.2) that say that something has changed, but never what. */
export interface LiveStreams {
  /** Opens the stream of one page; null while the service stops. */
  open(watch: Watch): Response | null;
  stop(): void;
}

interface LiveOptions {
  /** Whether a session is still valid: its streams end with it. */
  readonly isAlive: (session: Session) => Promise<boolean>;
}

const encoder = new TextEncoder();

export function createLiveStreams({ isAlive }: LiveOptions): LiveStreams {
  const streams = new Set<Stream>();
  const share = new FairShareBudget(STREAMS_MAX);
  let timer: ReturnType<typeof setTimeout> | null = null;
  let isStopped = false;
  const look = async () => {
    await lookOnce(streams, isAlive);
    timer = streams.size === 0 || isStopped ? null : setTimeout(look, POLL_INTERVAL_MS);
  };
  return {
    open(watch) {
      if (isStopped) return null;
      const own = [...streams].filter((stream) => stream.watch.session.id === watch.session.id);
      // We may not have noticed yet that a tab was closed, so drop the oldest.
      if (own.length >= STREAMS_PER_SESSION_MAX) own[0]?.close();
      const stream = new Stream(watch, streams, share);
      timer ??= setTimeout(look, POLL_INTERVAL_MS);
      return stream.response;
    },
    stop() {
      isStopped = true;
      for (const stream of streams) stream.close();
      if (timer !== null) clearTimeout(timer);
    },
  };
}

/** Checks each subject once, and notifies its watchers. */
async function lookOnce(streams: ReadonlySet<Stream>, isAlive: LiveOptions["isAlive"]): Promise<void> {
  const versions = new Map<string, Promise<string>>();
  for (const stream of [...streams]) {
    const { subject, version, session } = stream.watch;
    try {
      if (!(await isAlive(session))) {
        stream.close();
        continue;
      }
      stream.tell(await versions.getOrInsertComputed(subject, version));
    } catch {
      // The store or a read model does not answer; the next check catches up.
      stream.tell(null);
    }
  }
}

class Stream {
  readonly response: Response;
  private controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  private version: string;
  private readonly giveBack: () => void;
  private spokeAt = performance.now();
  private reportedAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly watch: Watch,
    private readonly streams: Set<Stream>,
    share: FairShareBudget,
  ) {
    streams.add(this);
    this.giveBack = share.take(watch.workspaceId, 1, () => this.close());
    this.version = watch.shown;
    const source = {
      start: (controller: ReadableStreamDefaultController<Uint8Array>) => {
        this.controller = controller;
        this.say(": live\n\n");
      },
      cancel: () => {
        this.controller = null;
        this.leave();
      },
    };
    const body = new ReadableStream(
      source,
      new ByteLengthQueuingStrategy({ highWaterMark: UNREAD_BYTES_MAX }),
    );
    const headers = { "content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no" };
    this.response = new Response(body, { headers: { ...headers, "cache-control": "no-store" } });
  }

  /** Announces a new version, or else sends a heartbeat now and then. */
  tell(version: string | null): void {
    const now = performance.now();
    if (version !== null && version !== this.version && now - this.reportedAt >= this.watch.restMs) {
      this.version = version;
      this.reportedAt = now;
      this.say(`event: changed\nid: ${version}\ndata: \n\n`);
    } else if (now - this.spokeAt > HEARTBEAT_MS) this.say(": still here\n\n");
  }

  close(): void {
    this.leave();
    this.controller?.close();
    this.controller = null;
  }

  /** Ends it, discarding what its client has not read. */
  private giveUp(): void {
    this.leave();
    this.controller?.error(new Error("the client does not read"));
    this.controller = null;
  }

  private leave(): void {
    this.streams.delete(this);
    this.giveBack();
  }

  private say(text: string): void {
    if (this.controller === null) return;
    this.spokeAt = performance.now();
    this.controller.enqueue(encoder.encode(text));
    if ((this.controller.desiredSize ?? 0) <= 0) this.giveUp();
  }
}
