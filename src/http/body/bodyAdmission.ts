import { invariant } from "../../kernel/assert.ts";
import { type Flight, InFlightSet } from "../../kernel/shortLivedCollections.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { type Problem, unavailable } from "../server/problem.ts";
import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from "./bodyLimits.ts";

const SHARE_OF_SMALL = 1 / 8;
/** The share that one workspace may hold, so others always find room; the largest body still fits. */
const SHARE_OF_WORKSPACE = 1 / 2;
const RETRY_AFTER_SECONDS_MAX = 4;

/** A grace period for each client, after which its body must arrive at the minimum rate on average. */
const GRACE_MS = 5 * SECOND_MS;
const BYTES_PER_SECOND_MIN = 4_096;
/**
 * The longest wait for one body: {@link BODY_BYTES_MAX} need 33 kB a second. Shorter than the time in which the content of
 * an upload has to be recorded (`CONTENT_APPEND_MS_MAX`), which begins with its first bytes.
 */
const BODY_MS_MAX = 8 * MINUTE_MS;
/** How often to look for bodies that are too slow. */
const SWEEP_MS = SECOND_MS;
/** Added to a body's time when speeds are compared: its first bytes say little about the rest. */
const SETTLING_MS = 250;

/** The body of one request, arriving or being processed. */
export interface IncomingBody {
  /** Reserves room for `bytes` more, before they are kept; throws a 503 if there is none. */
  admit(bytes: number): void;
  /** Records bytes that arrived but are not kept; they only count for the minimum rate. */
  pass(bytes: number): void;
  /** Waits for the client's next part. Rejects with a 503 if the body is cut off meanwhile. */
  next<Part>(part: Promise<Part>): Promise<Part>;
  /** How long we have waited for the client up to `now`, in ms: our own time does not make a body slow. */
  waitedMs(now: number): number;
  /** Gives all of its room back. */
  release(): void;
}

/**
 * Limits the bytes of bodies being read or processed, because base64 files multiply in memory on the way. Only bytes
 * that have arrived count. Large bodies leave a share to small ones, and a workspace leaves one to the others. When
 * room is short, the slowest of those still arriving give theirs up.
 */
export class BodyAdmissionControl {
  private small = 0;
  private large = 0;
  private refused = 0;
  private readonly workspaces = new Map<string, number>();
  private readonly waiting = new InFlightSet<Body>();
  /** Why nothing more is taken in; null while it is. */
  private refusal: string | null = null;
  private readonly timer = setInterval(() => this.cutOffTooSlow(), SWEEP_MS);

  constructor(private readonly bytesMax: number) {
    this.timer.unref();
  }

  open(workspaceId: string): IncomingBody {
    return new Body(workspaceId, this, this.waiting);
  }

  stop(): void {
    clearInterval(this.timer);
  }

  /** Cuts off every body that is still arriving, and from now on those that begin to. */
  refuseAll(detail: string): void {
    this.refusal = detail;
    for (const body of this.waiting.values()) this.cutOffIfRefused(body);
  }

  cutOffIfRefused(body: Body): void {
    if (this.refusal !== null) body.cutOff(cutOff(this.refusal, 1));
  }

  /** Makes room for `bytes` more of a body, cutting off slower ones if necessary; false if that is not enough. */
  hasRoom(body: Body, bytes: number): boolean {
    invariant(Number.isSafeInteger(bytes) && bytes >= 0, "a body has a whole number of bytes");
    const after = body.bytes + bytes;
    const isLarge = after > SMALL_BODY_BYTES_MAX;
    // A body that grows large counts as large from its first byte.
    const addedToLarge = isLarge ? (body.bytes > SMALL_BODY_BYTES_MAX ? bytes : after) : 0;
    const ofWorkspace = Math.max(this.bytesMax * SHARE_OF_WORKSPACE, BODY_BYTES_MAX);
    const lacking = {
      workspace: (this.workspaces.get(body.workspaceId) ?? 0) + bytes - ofWorkspace,
      large: this.large + addedToLarge - this.bytesMax * (1 - SHARE_OF_SMALL),
      all: this.small + this.large + bytes - this.bytesMax,
    };
    if (lacking.workspace <= 0 && lacking.large <= 0 && lacking.all <= 0) return true;
    const slower = this.slowerThan(body, isLarge);
    const ofSameWorkspace = slower.filter(({ workspaceId }) => workspaceId === body.workspaceId);
    return (
      this.isFreed(lacking.workspace, ofSameWorkspace) &&
      // What the workspace's own bodies gave up is free for all.
      this.isFreed(Math.max(lacking.large, lacking.all) - Math.max(lacking.workspace, 0), slower)
    );
  }

  /** Counts `bytes` more of a body; fewer if negative. */
  count(body: Body, bytes: number): void {
    this.small -= smallPart(body.bytes);
    this.large -= body.bytes - smallPart(body.bytes);
    const after = body.bytes + bytes;
    this.small += smallPart(after);
    this.large += after - smallPart(after);
    const held = (this.workspaces.get(body.workspaceId) ?? 0) + bytes;
    if (held === 0) this.workspaces.delete(body.workspaceId);
    else this.workspaces.set(body.workspaceId, held);
  }

  /** The answer when there is no room. Retry-After cycles through 1 to 4 seconds, so not all come back together. */
  overload(): Problem {
    this.refused = (this.refused + 1) % RETRY_AFTER_SECONDS_MAX;
    return cutOff("too many requests with large bodies are on their way in; try again", this.refused + 1);
  }

  /** Bodies of the same size class that yield to this one, slowest first. Of small ones, the oldest do. */
  private slowerThan(body: Body, isLarge: boolean): readonly Body[] {
    const now = performance.now();
    const speed = (one: Body) => (isLarge ? one.received : 1) / (one.waitedMs(now) + SETTLING_MS);
    const own = speed(body);
    return this.waiting
      .values()
      .filter((one) => one.bytes > 0 && one.bytes > SMALL_BODY_BYTES_MAX === isLarge && speed(one) < own)
      .sort((left, right) => speed(left) - speed(right));
  }

  /** Cuts off bodies until `bytes` are free; none if all together are not enough. */
  private isFreed(bytes: number, bodies: readonly Body[]): boolean {
    if (bodies.reduce((sum, body) => sum + body.bytes, 0) < bytes) return false;
    let freed = 0;
    for (const body of bodies) {
      if (freed >= bytes) break;
      freed += body.bytes;
      body.cutOff(this.overload());
    }
    return true;
  }

  private cutOffTooSlow(): void {
    const now = performance.now();
    for (const body of this.waiting.values()) {
      const waitedMs = body.waitedMs(now);
      const isSlow = (body.received / waitedMs) * SECOND_MS < BYTES_PER_SECOND_MIN;
      if (waitedMs > GRACE_MS && isSlow)
        body.cutOff(cutOff(`the body came at less than ${BYTES_PER_SECOND_MIN} bytes a second`, 1));
      else if (waitedMs > BODY_MS_MAX)
        body.cutOff(cutOff(`the body took more than ${BODY_MS_MAX / MINUTE_MS} minutes to arrive`, 1));
    }
  }
}

function smallPart(bytes: number): number {
  return bytes > SMALL_BODY_BYTES_MAX ? 0 : bytes;
}

/** Closes the connection with the answer: otherwise Bun would read and drop the rest of the body, however long it is. */
function cutOff(detail: string, retryAfterSeconds: number): Problem {
  return unavailable(detail, { retryAfterSeconds, headers: { connection: "close" } });
}

class Body implements IncomingBody {
  /** Bytes it holds. */
  bytes = 0;
  /** Bytes that have arrived; a body read in one go counts as arrived in full. */
  received = 0;
  private earlierMs = 0;
  private since = 0;
  private flight: Flight<Body> | null = null;
  private reject: (problem: Problem) => void = () => {};

  constructor(
    readonly workspaceId: string,
    private readonly bodies: BodyAdmissionControl,
    private readonly waiting: InFlightSet<Body>,
  ) {}

  admit(bytes: number): void {
    if (!this.bodies.hasRoom(this, bytes)) throw this.bodies.overload();
    this.bodies.count(this, bytes);
    this.bytes += bytes;
    this.received += bytes;
  }

  pass(bytes: number): void {
    this.received += bytes;
  }

  next<Part>(part: Promise<Part>): Promise<Part> {
    return new Promise((resolve, reject) => {
      this.since = performance.now();
      this.reject = reject;
      this.flight = this.waiting.add(this);
      const came = () => {
        this.earlierMs = this.waitedMs(performance.now());
        this.land();
      };
      part.finally(came).then(resolve, reject);
      this.bodies.cutOffIfRefused(this);
    });
  }

  waitedMs(now: number): number {
    return this.earlierMs + (this.flight === null ? 0 : now - this.since);
  }

  private land(): void {
    if (this.flight !== null) this.waiting.delete(this.flight);
    this.flight = null;
  }

  cutOff(problem: Problem): void {
    this.release();
    this.land();
    this.reject(problem);
  }

  release(): void {
    this.bodies.count(this, -this.bytes);
    this.bytes = 0;
  }
}
