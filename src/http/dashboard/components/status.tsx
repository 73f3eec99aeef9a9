/** @jsxImportSource hono/jsx */
import type { FC } from "hono/jsx";

/** What a state means to whoever looks at it: the colour of its dot. */
export type Tone = "good" | "busy" | "waiting" | "bad" | "quiet";

/** The tone of every state that anything of the service can be in; unknown ones are quiet. */
const TONES: Readonly<Record<string, Tone>> = {
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
  active: "good",
  verified: "good",
  delivered: "good",
  published: "good",
  ready: "good",
  ok: "good",
  pending: "waiting",
  unverified: "waiting",
  validating: "busy",
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
  /** What people read; the state itself unless given. */
  readonly label?: string;
  readonly tone?: Tone;
}

/** A state: a word, and a dot whose colour says the same. */
export const Status: FC<StatusProps> = ({ status, label, tone }) => (
  <span class={`status ${tone ?? TONES[status] ?? "quiet"}`}>{label ?? status.replaceAll("_", " ")}</span>
);
