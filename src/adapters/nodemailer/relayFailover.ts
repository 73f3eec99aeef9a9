import { LOG_IN_CODES, type MailOutcome, RELAY_TROUBLE_CODES } from "../../kernel/outcome/mailOutcome.ts";
import { type Clock, type Deadline, leftMs } from "../../ports/clock.ts";
import type {
  MailMessage,
  MailSession,
  MailTransport,
  SendDeadlines,
  SessionResult,
} from "../../ports/mail/mailTransport.ts";
import { timerMs } from "./smtpTransaction.ts";
import type { RelayTransport } from "./smtpTransport.ts";

/** One of several relays. */
export interface FailoverRelay {
  /** Host and port. */
  readonly name: string;
  /** Only relays of the lowest order are used, as long as one of them accepts mail. */
  readonly order: number;
  /** The share of mail among relays of one order. */
  readonly weight: number;
  readonly transport: RelayTransport;
}

/** A relay takes no mail, with the reason, or takes it again. A session that fails once is no change. */
export interface RelayChange {
  readonly relay: string;
  /** Null if it accepts mail again. In our own words, because a relay's words may name people. */
  readonly reason: string | null;
}

interface FailoverContext {
  readonly clock: Clock;
  readonly onChange: (change: RelayChange) => void;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** The cool-down after a fault, doubled each time, before one message tries the relay again. */
const REST_MS_MIN = 1_000;
const REST_MS_MAX = 60_000;
const DOUBLINGS_MAX = Math.ceil(Math.log2(REST_MS_MAX / REST_MS_MIN));
/** Replies that mean the relay accepts no mail, or none of ours. */
const RELAY_FAULT_CODES: readonly number[] = [...RELAY_TROUBLE_CODES, ...LOG_IN_CODES];

/** A relay and its circuit breaker. */
class GuardedRelay {
  private faults = 0;
  private restUntil = Number.NEGATIVE_INFINITY;
  private isTried = false;
  private isReported = false;

  constructor(
    readonly relay: FailoverRelay,
    private readonly context: Pick<FailoverContext, "clock" | "onChange">,
  ) {}

  /** Whether a message may go to it now. After the cool-down only one message tries it. */
  get isClosed(): boolean {
    if (this.faults === 0) return true;
    return !this.isTried && this.context.clock.monotonicMs() >= this.restUntil;
  }

  /** Null if the circuit opens while the message waits for a connection, unless it `isLastResort`. */
  session(signal: AbortSignal, isLastResort: boolean): Promise<SessionResult | null> {
    if (this.faults > 0) this.isTried = true;
    const { restUntil } = this;
    return this.relay.transport.sessionIf(() => isLastResort || this.restUntil === restUntil, signal);
  }

  succeeded(): void {
    if (this.isReported) this.context.onChange({ relay: this.relay.name, reason: null });
    this.isReported = false;
    this.faults = 0;
    this.isTried = false;
  }

  /** `isPassing`: it has answered until now, so a single fault may be a hiccup, which nobody needs to know of. */
  failed(reason: string, isPassing: boolean): void {
    this.isTried = false;
    const now = this.context.clock.monotonicMs();
    // Messages in flight when the circuit opened met the same fault.
    if (this.faults > 0 && now < this.restUntil) return;
    const isHiccup = isPassing && this.faults === 0;
    if (!this.isReported && !isHiccup) {
      this.isReported = true;
      this.context.onChange({ relay: this.relay.name, reason });
    }
    const restMs = Math.min(REST_MS_MAX, REST_MS_MIN * 2 ** this.faults);
    this.faults = Math.min(this.faults + 1, DOUBLINGS_MAX);
    this.restUntil = now + restMs;
  }

  /** Neither success nor failure: the message ran out of time, or the service is stopping. */
  undecided(): void {
    this.isTried = false;
  }
}

/** What decides which relay a message goes to next. */
interface Choice {
  readonly tried: Set<GuardedRelay>;
  /** The relay that may already have it; null if none may. */
  readonly preferredRelay: string | null;
}

interface Opened {
  readonly guarded: GuardedRelay;
  readonly session: MailSession;
}

/**
 * Mail to several relays: to those of the lowest order by weight, and on to the next if one is unreachable, breaks off
 * before it has the message, or refuses the log-in. A message that a relay may already have goes to no other one in the
 * same attempt; a later attempt prefers that relay, and goes to another one only if it accepts no mail at that time.
 *
 * A relay that is full leaves its share to others of its order: a low rate would otherwise hold up every worker. So does
 * one that has its share of the workers at once: a slow one would otherwise keep them all.
 */
export function relayFailover(
  relays: readonly FailoverRelay[],
  { clock, random, onChange }: FailoverContext,
): MailTransport {
  const guards = relays.map((relay) => new GuardedRelay(relay, { clock, onChange }));
  const sessionsMax = Math.max(...relays.map(({ transport }) => transport.sessionsMax));
  let isClosed = false;

  /** The relay for a message that has tried these; undefined if no other one accepts mail. */
  const draw = ({ tried, preferredRelay }: Choice, isLastResort: boolean): GuardedRelay | undefined => {
    const open = guards.filter((guarded) => !tried.has(guarded) && (isLastResort || guarded.isClosed));
    const preferred = open.find(({ relay }) => relay.name === preferredRelay);
    if (preferred !== undefined) return preferred;
    const order = Math.min(...open.map(({ relay }) => relay.order));
    const ofOrder = open.filter(({ relay }) => relay.order === order);
    const weights = ofOrder.reduce((sum, { relay }) => sum + relay.weight, 0);
    const [first] = ofOrder
      .map((guarded) => {
        const { weight, transport } = guarded.relay;
        const { backlogMs, sessionsInUse } = transport;
        const share = Math.max(1, Math.floor((sessionsMax * weight) / weights));
        const lot = random() ** (1 / weight);
        return { guarded, backlogMs, hasShare: Number(sessionsInUse >= share), lot };
      })
      .sort((a, b) => a.backlogMs - b.backlogMs || a.hasShare - b.hasShare || b.lot - a.lot);
    return first?.guarded;
  };

  /** Whether all were cooling down when the message came, so that it tries them all. */
  const findsAllCooling = (tried: ReadonlySet<GuardedRelay>): boolean =>
    tried.size === 0 && guards.every((guarded) => !guarded.isClosed);

  const open = async (signal: AbortSignal, choice: Choice): Promise<Opened | SessionResult> => {
    const { tried } = choice;
    let last: SessionResult = { kind: "broken", trouble: "unreachable", reason: "no relay accepts mail now" };
    let isLastResort = false;
    for (;;) {
      isLastResort ||= findsAllCooling(tried);
      const guarded = draw(choice, isLastResort);
      if (guarded === undefined) return last;
      const result = await guarded.session(signal, isLastResort);
      if (result === null) continue;
      tried.add(guarded);
      if (result.kind === "session") return { guarded, session: result.session };
      last = { ...result, reason: `${guarded.relay.name}: ${result.reason}` };
      if (signal.aborted || isClosed) {
        guarded.undecided();
        return last;
      }
      guarded.failed(result.reason, false);
    }
  };

  return {
    name: "smtp",
    sessionsMax,
    async session(signal, preferredRelay = null) {
      const choice = { tried: new Set<GuardedRelay>(), preferredRelay };
      const opened = await open(signal, choice);
      if ("kind" in opened) return opened;
      return { kind: "session", session: new FailoverSession(opened, { choice, open, clock }) };
    },
    async close() {
      isClosed = true;
      await Promise.all(relays.map(({ transport }) => transport.close()));
    },
  };
}

interface SessionContext {
  readonly choice: Choice;
  readonly open: (signal: AbortSignal, choice: Choice) => Promise<Opened | SessionResult>;
  readonly clock: Clock;
}

class FailoverSession implements MailSession {
  /** False after a relay has failed, until another one has given a session. */
  private isHeld = true;

  constructor(
    private current: Opened,
    private readonly context: SessionContext,
  ) {}

  get relay(): string {
    return this.current.guarded.relay.name;
  }

  async send(message: MailMessage, deadlines: SendDeadlines): Promise<MailOutcome> {
    for (;;) {
      const { guarded, session } = this.current;
      const outcome = await session.send(message, deadlines);
      if (outcome.kind === "outOfTime") guarded.undecided();
      else if (isRelayFault(outcome)) guarded.failed(reasonOf(outcome), isPassing(outcome));
      else guarded.succeeded();
      if (!isHandedOver(outcome) || !(await this.next(deadlines.handover))) return outcome;
    }
  }

  release(): void {
    if (!this.isHeld) return;
    this.giveBack();
    this.current.guarded.undecided();
  }

  private giveBack(): void {
    this.isHeld = false;
    this.current.session.release();
  }

  /**
   * Moves to another relay; false when none accepts mail. Gives its session back first: two messages would otherwise
   * wait for each other if each held the only connection to the relay that the other one moves to.
   */
  private async next(handover: Deadline): Promise<boolean> {
    this.giveBack();
    const { open, choice, clock } = this.context;
    const late = AbortSignal.timeout(timerMs(leftMs(clock, handover)));
    const opened = await open(late, choice);
    if ("kind" in opened) return false;
    this.current = opened;
    this.isHeld = true;
    return true;
  }
}

function reasonOf(outcome: MailOutcome): string {
  if (outcome.kind === "refused") return `it answered ${outcome.code} to ${outcome.stage}`;
  return "reason" in outcome ? outcome.reason : outcome.kind;
}

function isRelayFault(outcome: MailOutcome): boolean {
  if (outcome.kind === "refused") return RELAY_FAULT_CODES.includes(outcome.code);
  return outcome.kind === "broken" || outcome.kind === "unknown";
}

/** Not so a refused log-in, which stays refused until somebody corrects it. */
function isPassing(outcome: MailOutcome): boolean {
  return outcome.kind !== "refused" || !LOG_IN_CODES.includes(outcome.code);
}

/** Whether another relay can have the message, because this one certainly does not have it. */
function isHandedOver(outcome: MailOutcome): boolean {
  return isRelayFault(outcome) && outcome.kind !== "unknown";
}
