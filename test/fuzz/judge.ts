import { answerFault, type SeenAnswer } from "../gate/documentedAnswers.ts";
import { canariesIn } from "./canary.ts";
import type { FuzzRequest } from "./request.ts";

/** What the run must not see. */
export type Kind = "server error" | "schema violation" | "leak";

export interface Fault {
  readonly kind: Kind;
  readonly what: string;
}

/**
 * What a 503 may say: the service has a bound, and says when to come back. A list that stays behind is found all the same:
 * its operation does not succeed often enough.
 */
const BOUNDS: readonly RegExp[] = [
  /too many requests with large bodies are on their way in/,
  /the list is not up to date yet/,
];

function serverError({ status, headers, text }: SeenAnswer): string | null {
  if (status < 500) return null;
  const isBound = status === 503 && headers.has("retry-after") && BOUNDS.some((bound) => bound.test(text));
  return isBound ? null : `answered with ${status}: ${text.slice(0, 300)}`;
}

/** Bun's own parser refuses a request that is not HTTP, with a bare 400 or 431, before our program sees it. */
function isParserRefusal({ status, headers, text }: SeenAnswer): boolean {
  return [400, 413, 431, 501, 505].includes(status) && text === "" && !headers.has("x-request-id");
}

/** The target as the service sees it: dot segments are gone. */
function pathOf({ target, isRaw }: FuzzRequest): string {
  if (!isRaw && !target.includes("..") && !target.includes("%2")) return target;
  const path = target.replace(/^http:\/\/[^/]*/, "");
  const url = `http://localhost${path.startsWith("/") ? path : `/${path}`}`;
  return URL.canParse(url) ? new URL(url).pathname : path;
}

function violation(request: FuzzRequest, answer: SeenAnswer): string | null {
  if ((request.isMalformed || request.isRaw) && isParserRefusal(answer)) return null;
  let fault = answerFault(request.method, pathOf(request), answer);
  // What such a target is read as is the parser's business; it may find the route, another or none.
  if (fault !== null && request.isMalformed && (answer.status === 404 || answer.status === 405))
    fault = answerFault("GET", "/nothing", { ...answer, status: 404 });
  return fault === null ? null : `${answer.status} ${fault}: ${answer.text.slice(0, 300)}`;
}

function leak(request: FuzzRequest, answer: SeenAnswer): string | null {
  const { workspace, headers, target, body } = request;
  if (request.isForeign && answer.status >= 200 && answer.status < 300) {
    return `succeeded with another workspace's resource: ${answer.text.slice(0, 300)}`;
  }
  const seen = `${[...answer.headers].join("\n")}\n${answer.text}`;
  const found = canariesIn(seen);
  if (found.length === 0) return null;
  const isOwn = Object.values(headers).some((value) => value.includes(workspace.tenant.apiKey));
  const isWeak = Object.values(headers).some((value) => value.includes(workspace.weak.apiKey));
  const foreign = found.filter(({ mark }) => !(isOwn || isWeak) || mark !== workspace.mark);
  if (foreign.length === 0) return null;
  const sent = `${target}\n${Object.values(headers).join("\n")}\n${typeof body === "string" ? body : Buffer.from(body ?? "").toString("latin1")}`;
  const sentCanaries = new Set(canariesIn(sent).map(({ canary }) => canary));
  const other = foreign.find(({ canary }) => !sentCanaries.has(canary));
  return other === undefined ? null : `shows ${other.canary} of another workspace: ${seen.slice(0, 300)}`;
}

/** Everything that is wrong with an answer. */
export function judge(request: FuzzRequest, answer: SeenAnswer): readonly Fault[] {
  const error = serverError(answer);
  const wrong = violation(request, answer);
  const leaked = leak(request, answer);
  return [
    ...(error === null ? [] : [{ kind: "server error" as const, what: error }]),
    ...(wrong === null ? [] : [{ kind: "schema violation" as const, what: wrong }]),
    ...(leaked === null ? [] : [{ kind: "leak" as const, what: leaked }]),
  ];
}
