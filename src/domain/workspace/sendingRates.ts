import { type Decision, decided } from "../../kernel/event/decider.ts";
import { counted, grouped } from "../../kernel/text/readableNumbers.ts";
import { DAY_MS, type EpochMs, HOUR_MS, rfc3339 } from "../../kernel/time.ts";
import type { PauseRate, WorkspaceEvent } from "./events.ts";
import type { WorkspaceState } from "./state.ts";

/** The rates by which providers judge who sends through them. The log stores these names. */
export const RATE_KINDS = ["bounce", "complaint"] as const;
export type RateKind = (typeof RATE_KINDS)[number];

/** What a workspace's messages have come to, without test mail and mail to the simulator. */
export interface SendingCounts {
  /** Those that went out: a relay took them, or refused the recipient for good. */
  readonly sent: number;
  readonly hardBounced: number;
  readonly complained: number;
}

/** Hard bounces or complaints among the messages sent. */
export interface SendingRate {
  readonly kind: RateKind;
  readonly reported: number;
  readonly sent: number;
}

/** A threshold for each rate, in reports of {@link RATE_BASE_MESSAGES}; 0: none. */
export type RateThresholds = Readonly<Record<RateKind, number>>;

/** `warning`: operators are told. `pause`: the service pauses the workspace. */
export interface RateSettings {
  readonly warning: RateThresholds;
  readonly pause: RateThresholds;
}

/** So many messages make the thresholds whole numbers, which compare exactly: 0.08 % is 80 of them. */
export const RATE_BASE_MESSAGES = 100_000;
/** How far back messages count: those accepted, or scheduled for a time, since then. */
const RATE_WINDOW_MS = 7 * DAY_MS;
/** With fewer messages there is no rate: a few reports more or less would decide. */
export const RATE_MESSAGES_MIN: Readonly<Record<RateKind, number>> = { bounce: 100, complaint: 1_000 };

const REPORTED = { bounce: "hardBounced", complaint: "complained" } as const;
const REPORT_WORDS: Readonly<Record<string, string>> = { bounce: "hard bounce", complaint: "complaint" };

/** The rate of these counts; null if there are too few messages for one. */
export function sendingRate(kind: RateKind, counts: SendingCounts): SendingRate | null {
  const { sent, [REPORTED[kind]]: reported } = counts;
  return sent < RATE_MESSAGES_MIN[kind] ? null : { kind, reported, sent };
}

/** Whether a rate is at a threshold or above it. No rate and no threshold never are. */
export function isAtThreshold(rate: SendingRate | null, threshold: number): boolean {
  return rate !== null && threshold > 0 && rate.reported * RATE_BASE_MESSAGES >= threshold * rate.sent;
}

/** From when messages count on: the full hour in which the window begins. */
export function ratesCountFrom(now: EpochMs): EpochMs {
  return Math.floor((now - RATE_WINDOW_MS) / HOUR_MS) * HOUR_MS;
}

/**
 * The same for a pause: once somebody has resumed what a rate had paused, only messages since then count, from the next
 * full hour on. Somebody else's pause changes nothing, or a tenant could begin anew each hour.
 */
export function pausesCountFrom(state: WorkspaceState, now: EpochMs): EpochMs {
  return Math.max(ratesCountFrom(now), Math.ceil(rateResumedAt(state, now) / HOUR_MS) * HOUR_MS);
}

/** 0 if nobody has; a clock that was ahead may have dated it later than now, and would keep a workspace from being watched. */
function rateResumedAt(state: WorkspaceState, now: EpochMs): EpochMs {
  const at = state?.rateResumedAt ?? 0;
  return at > now ? 0 : at;
}

/** What was counted, and from when on. */
export interface CountedSince extends SendingCounts {
  readonly from: EpochMs;
}

/**
 * Pauses sending if a rate is at its threshold. `resumed`: what was counted is from before somebody has resumed it. All
 * other outcomes but `paused` change nothing, nor does a repeat.
 */
export function pauseAtThreshold(
  state: WorkspaceState,
  { from, ...counts }: CountedSince,
  thresholds: RateThresholds,
  now: EpochMs,
): Decision<"paused" | "below" | "resumed" | "notFound", WorkspaceEvent> {
  if (state === null) return decided("notFound");
  if (state.paused) return decided("paused");
  if (from < rateResumedAt(state, now)) return decided("resumed");
  const rates = RATE_KINDS.map((kind) => sendingRate(kind, counts));
  const rate = rates.find((one) => one !== null && isAtThreshold(one, thresholds[one.kind]));
  if (!rate) return decided("below");
  const data = { at: rfc3339(now), rate: { ...rate, since: rfc3339(from) } };
  return decided("paused", { type: "SendingPaused", data });
}

/** A rate for people, rounded down: "6.2 %". */
export function percentText({ reported, sent }: Pick<SendingRate, "reported" | "sent">): string {
  return `${grouped(Math.floor((reported * 10_000) / sent) / 100)} %`;
}

/** What a rate was counted from: "62 hard bounces of 1,000 messages". */
export function countedText({ kind, reported, sent }: Omit<PauseRate, "since">): string {
  return `${counted(reported, REPORT_WORDS[kind] ?? "report")} of ${counted(sent, "message")}`;
}

/** Why the service has paused a workspace because of a rate, as a sentence. */
export function pauseRateText(rate: PauseRate): string {
  return `The service paused it: its ${rate.kind} rate was ${percentText(rate)} (${countedText(rate)} since ${rate.since}).`;
}

/** The same; null if it is not paused, or somebody asked for it. */
export function pauseReason(state: WorkspaceState): string | null {
  const rate = state?.pauseRate ?? null;
  return rate === null ? null : pauseRateText(rate);
}
