/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

/** What a state means to people: the colour of its dot. */
export type Tone = "good" | "busy" | "waiting" | "bad" | "quiet";

/** The tone of every state in the service; unknown ones are quiet. */
const TONES: Readonly<Record<string, Tone>> = {
  accepted: "busy",
  scheduled: "waiting",
  queued: "busy",
  sending: "busy",
  sent: "good",
  deferred: "waiting",
  bounced: "bad",
  complained: "bad",
  failed: "bad",
  suppressed: "quiet",
  canceled: "quiet",
  running: "busy",
  requested: "busy",
  applied: "busy",
  completed: "good",
  bounce: "bad",
  complaint: "bad",
  manual: "quiet",
  attempting: "busy",
  skipped: "quiet",
  failing: "bad",
  active: "good",
  verified: "good",
  delivered: "good",
  published: "good",
  ready: "good",
  ok: "good",
  pending: "waiting",
  unverified: "waiting",
  paused: "waiting",
  warning: "waiting",
  draft: "quiet",
  disabled: "quiet",
  expired: "quiet",
  revoked: "quiet",
  archived: "quiet",
  exhausted: "bad",
  rejected: "bad",
};

interface StatusProps {
  /** As the API names it. */
  readonly status: string;
  /** The text shown; by default the state itself. */
  readonly label?: string;
  readonly tone?: Tone;
}

/** A state: a word, and a dot in the matching colour. */
export const Status: FC<StatusProps> = ({ status, label, tone }) => (
  <span class={`status ${tone ?? TONES[status] ?? "quiet"}`}>{label ?? status.replaceAll("_", " ")}</span>
);
