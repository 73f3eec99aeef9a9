import type { RouteName } from "../../src/http/server/routes.ts";
import type { SeenAnswer } from "../gate/documentedAnswers.ts";
import type { InboundResult } from "./fuzzInbound.ts";
import type { SubmissionResult } from "./fuzzSubmission.ts";
import { hints } from "./hints.ts";
import type { Fault, Kind } from "./judge.ts";
import type { FuzzRequest } from "./request.ts";

/** A fault with the request that led to it. */
export interface Finding extends Fault {
  readonly lane: number;
  readonly number: number;
  readonly request: string;
}

interface RouteTally {
  requests: number;
  /** Over a rate limit: a fast run has many of them where callers have no key, and they say nothing. */
  limited: number;
  successes: number;
  readonly answers: Map<string, number>;
}

/** Of one kind so many are told; all are counted. */
const EXAMPLES_MAX = 10;
/** Each operation's share of successes, at least, among its requests that were not over a rate limit. */
const SUCCESS_SHARE_MIN = 0.2;
const BODY_CHARACTERS_MAX = 400;

function shown({ mode, what, method, target, headers, body }: FuzzRequest): string {
  const fields = Object.entries(headers).map(([name, value]) =>
    name === "authorization" ? name : `${name}: ${value.slice(0, 80)}`,
  );
  const text = typeof body === "string" ? body : Buffer.from(body ?? "").toString("latin1");
  return `${mode} (${what}): ${method} ${target.slice(0, 200)} [${fields.join("; ")}] ${text.slice(0, BODY_CHARACTERS_MAX)}`;
}

/** What the requests of a run came to. */
export interface Requested {
  readonly requests: number;
  readonly counts: Readonly<Record<Kind, number>>;
  readonly findings: readonly Finding[];
  readonly routes: readonly {
    readonly route: string;
    readonly requests: number;
    readonly successShare: number;
    /** Why the share is not held against it. */
    readonly exempt: string | null;
    readonly answers: Readonly<Record<string, number>>;
  }[];
  /** Operations with too small a share of successes. */
  readonly starved: readonly string[];
}

/** What a run came to, its sessions over SMTP included. */
export interface Result extends Requested {
  readonly submission: SubmissionResult;
  readonly inbound: InboundResult;
}

/** Counts what a run sees. */
export class Tally {
  private requests = 0;
  private readonly counts: Record<Kind, number> = { "server error": 0, "schema violation": 0, leak: 0 };
  private readonly findings: Finding[] = [];
  private readonly routes = new Map<RouteName, RouteTally>();

  get total(): number {
    return this.requests;
  }

  get hasFound(): boolean {
    return this.findings.length > 0;
  }

  /** `answer` is null when there was none, which is a fault too. */
  add(
    request: FuzzRequest,
    answer: SeenAnswer | null,
    faults: readonly Fault[],
    at: { lane: number; number: number },
  ): void {
    this.requests += 1;
    const { name } = request.one;
    const route = this.routes.get(name) ?? {
      requests: 0,
      limited: 0,
      successes: 0,
      answers: new Map<string, number>(),
    };
    this.routes.set(name, route);
    route.requests += 1;
    // A redirect, or "not modified", is an answer that was asked for too.
    if (answer !== null && answer.status >= 200 && answer.status < 400) route.successes += 1;
    if (answer?.status === 429) route.limited += 1;
    const code = /"code":"([A-Z_]+)"/.exec(answer?.text.slice(0, 2_000) ?? "")?.[1];
    const kind = `${answer?.status ?? "no answer"}${code === undefined ? "" : ` ${code}`}`;
    route.answers.set(kind, (route.answers.get(kind) ?? 0) + 1);
    for (const fault of faults) {
      this.counts[fault.kind] += 1;
      if (this.counts[fault.kind] <= EXAMPLES_MAX)
        this.findings.push({ ...fault, ...at, request: shown(request) });
    }
  }

  result(): Requested {
    const routes = [...this.routes].map(([route, { requests, limited, successes, answers }]) => ({
      route,
      requests,
      successShare: successes / Math.max(1, requests - limited),
      exempt: hints[route]?.exempt ?? null,
      answers: Object.fromEntries([...answers].sort(([, a], [, b]) => b - a)),
    }));
    const starved = routes.filter(
      ({ exempt, successShare }) => exempt === null && successShare < SUCCESS_SHARE_MIN,
    );
    return {
      requests: this.requests,
      counts: this.counts,
      findings: this.findings,
      routes,
      starved: starved.map(({ route }) => route),
    };
  }
}
