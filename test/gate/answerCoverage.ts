import { problemFacts } from "../../src/http/server/problemCodes.ts";
import type { TestStore } from "../support/stores/stores.ts";
import type { SeenLine } from "./answerLog.ts";
import { codesOf, type Described, described } from "./documentedAnswers.ts";

/** An answer that the document promises: `code` is null where it is no problem. */
export interface Promised {
  readonly route: string;
  readonly status: number;
  readonly code: string | null;
}

/** A documented error of an operation. */
interface ContractRow {
  readonly table: "Send an email" | "Webhook endpoints";
  readonly code: Parameters<typeof problemFacts>[0];
}

/** The error codes of the public API, in the order in which they are documented. */
const SEND_CODES = [
  "INVALID_REQUEST",
  "IDEMPOTENCY_KEY_REQUIRED",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "SENDING_PAUSED",
  "IDEMPOTENCY_CONFLICT",
  "ATTACHMENT_NOT_READY",
  "ATTACHMENT_EXPIRED",
  "ATTACHMENT_LIMIT_EXCEEDED",
  "PAYLOAD_TOO_LARGE",
  "STORAGE_LIMIT_EXCEEDED",
  "ATTACHMENT_INVALID",
  "ATTACHMENT_TYPE_UNSUPPORTED",
  "SENDER_UNAVAILABLE",
  "TEMPLATE_UNAVAILABLE",
  "INVALID_TEMPLATE_DATA",
  "DAILY_LIMIT_REACHED",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
] as const;
const WEBHOOK_CODES = [
  "INVALID_REQUEST",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "WEBHOOK_NOT_FOUND",
  "WEBHOOK_ALREADY_EXISTS",
  "INVALID_WEBHOOK_URL",
  "RATE_LIMITED",
  "INTERNAL_ERROR",
] as const;

const CONTRACT: readonly ContractRow[] = [
  ...SEND_CODES.map((code) => ({ table: "Send an email" as const, code })),
  ...WEBHOOK_CODES.map((code) => ({ table: "Webhook endpoints" as const, code })),
];

const ROUTES_OF: Readonly<Record<ContractRow["table"], (route: string) => boolean>> = {
  "Send an email": (route) => route === "sendEmail",
  "Webhook endpoints": (route) => /webhook/i.test(route),
};

/**
 * Whether tests of what an operation refuses before it reads the log run on this store. SQLite is enough, but of webhooks
 * the contract wants each answer on both (`webhookFaults`).
 */
export function isAskedOn({ isShared }: TestStore, route: string): boolean {
  return !isShared || ROUTES_OF["Webhook endpoints"](route);
}

function key({ route, status, code }: { route: string | null; status: number; code: string | null }): string {
  return `${route} ${status} ${code ?? "-"}`;
}

/** Everything that the document says can be answered. */
export function promisedAnswers(operations: readonly Described[] = described): readonly Promised[] {
  return operations.flatMap(({ name, operation }) =>
    Object.entries(operation.responses).flatMap(([status, answer]): readonly Promised[] => {
      const codes = codesOf(answer);
      const codesOrNull = codes.length === 0 ? [null] : codes;
      return codesOrNull.map((code) => ({ route: name, status: Number(status), code }));
    }),
  );
}

/** What the document promises and no test has seen, each as a line to read. */
export function coverageFaults(seen: readonly SeenLine[], promised = promisedAnswers()): readonly string[] {
  const keys = new Set(seen.map(key));
  const missing = promised.filter((one) => !keys.has(key(one)));
  return missing.map((one) => `documented and never seen: ${key(one)}`);
}

/** What the document promises of webhook routes and no test has seen on one of the stores. */
export function webhookFaults(
  seen: readonly SeenLine[],
  stores: readonly SeenLine["store"][],
  promised = promisedAnswers(),
): readonly string[] {
  const isWebhook = ROUTES_OF["Webhook endpoints"];
  return stores.flatMap((store) => {
    const keys = new Set(seen.filter((line) => line.store === store).map(key));
    const missing = promised.filter((one) => isWebhook(one.route) && !keys.has(key(one)));
    return missing.map((one) => `documented and never seen on ${store}: ${key(one)}`);
  });
}

function cell(line: SeenLine | undefined): string {
  return line === undefined ? "MISSING" : `${line.method} ${line.path} (${line.detail})`;
}

/** The contract's error tables with the request that provoked each code on each store, and what was not provoked. */
export function contractTable(
  seen: readonly SeenLine[],
  stores: readonly SeenLine["store"][],
): { readonly lines: readonly string[]; readonly faults: readonly string[] } {
  const faults: string[] = [];
  const lines = CONTRACT.map(({ table, code }) => {
    const status = problemFacts(code).status;
    const cells = stores.map((store) => {
      const line = seen.find(
        (one) => one.store === store && one.code === code && ROUTES_OF[table](one.route ?? ""),
      );
      if (!line) faults.push(`${table}: ${code} was not provoked on ${store}`);
      return `${store}: ${cell(line)}`;
    });
    const shown = code === "INTERNAL_ERROR" ? "500 or 503" : String(status);
    return [`  ${shown} ${code}`, ...cells.map((text) => `      ${text}`)].join("\n");
  });
  const webhooksAt = SEND_CODES.length;
  return {
    lines: ["Send an email", ...lines.slice(0, webhooksAt), "Webhook endpoints", ...lines.slice(webhooksAt)],
    faults,
  };
}
