import {
  type AuthenticationFault,
  authenticate,
  type EndedKey,
  type Principal,
  principalOfKey,
} from "../commands/apiKey/authenticate.ts";
import { type AnswerTimeouts, createAnswerTimeouts } from "../http/limits/answerTimeouts.ts";
import { LOG_FROZEN, Problem, unavailable } from "../http/server/problem.ts";
import { problemOf } from "../http/server/problemOfError.ts";
import type { ServerOptions } from "../http/server/requestHandler.ts";
import { callerFields, type RequestLog } from "../http/server/requestLog.ts";
import { newRequestId } from "../kernel/ids.ts";
import { isClientIn } from "../kernel/network/clientIp.ts";
import { parseAddress } from "../kernel/text/emailAddress.ts";
import { reasonOf } from "../kernel/text/errorReason.ts";
import type {
  IncomingMail,
  LoggedIn,
  SmtpReply,
  SubmissionClient,
  SubmissionHandlers,
} from "../ports/submission/submissionServer.ts";
import { contentTooLarge, type ReadMailBytes, readMailBytes } from "./readMailBytes.ts";
import { reply, replyOf } from "./smtpReplies.ts";
import { type Submitted, type Submitting, submitMail } from "./submitMail.ts";
import { TempfailedMails } from "./tempfailedMails.ts";

/** All members of `ServerOptions` are shared with HTTP, and so are the limits. The time-out starts after the content. */
export interface SubmissionOptions
  extends Submitting,
    Pick<ServerOptions, "bodies" | "requests" | "isClosed" | "log" | "requestTimeoutMs"> {}

/** What the sessions have in common besides the options. */
interface Shared {
  readonly timeouts: AnswerTimeouts;
  readonly tempfailed: TempfailedMails;
}

const REFUSED: Readonly<Record<AuthenticationFault, string>> = {
  missing: "the password must be an API key; the user name does not matter",
  noBearer: "the password is no API key",
  malformed: "the password is no API key: one begins with pl_ and has 53 characters, or with pl_test_ and 58",
  unknown: "the password is an API key that this service does not know",
  revoked: "the API key was revoked: issue another one",
  expired: "the API key has expired: issue another one",
};

const REVOKED = new Problem("UNAUTHORIZED", { detail: "the API key was revoked or has expired" });
const FROZEN = unavailable(LOG_FROZEN);
const TOO_LATE = unavailable("that took too long: send the mail again as it is");

/** The handlers of SMTP submission sessions, with the same keys, limits and rules as a send over HTTP. */
export function submissionSession(options: SubmissionOptions): SubmissionHandlers<Principal> {
  const timeouts = createAnswerTimeouts(options.requestTimeoutMs);
  const shared = { timeouts, tempfailed: new TempfailedMails() };
  return {
    logIn: (password, client) => logIn(options, password, client),
    async refuseMail({ keyId }) {
      if (await options.isClosed()) return replyOf(FROZEN);
      return (await principalOfKey(options.deps, keyId)) === null
        ? { ...replyOf(REVOKED), isLast: true }
        : null;
    },
    refuseRecipient(address) {
      const parsed = parseAddress(address);
      return "invalid" in parsed ? reply(553, "5.1.3", `the recipient ${parsed.invalid}`) : null;
    },
    take: (mail) => take(options, shared, mail),
  };
}

async function logIn(
  { deps, rateLimits, log }: SubmissionOptions,
  password: string,
  { address }: SubmissionClient,
): Promise<LoggedIn<Principal> | SmtpReply> {
  const principal = await authenticate(deps, password === "" ? null : `Bearer ${password}`);
  if ("fault" in principal) {
    const record = new SubmissionRecord(log, null, principal.endedKey);
    const retryAfterSeconds = rateLimits.countFailure(address);
    record.refused(new Problem(retryAfterSeconds === null ? "UNAUTHORIZED" : "RATE_LIMITED"));
    if (retryAfterSeconds === null) return reply(535, "5.7.8", REFUSED[principal.fault]);
    return reply(421, "4.7.0", `too many failed log-ins: try again in ${retryAfterSeconds} s`);
  }
  const forbidden = logInForbidden(principal, address);
  if (forbidden === null) return { user: principal, owner: principal.workspaceId };
  new SubmissionRecord(log, principal).refused(new Problem("FORBIDDEN"));
  return reply(535, "5.7.8", forbidden);
}

/** Why a valid key may not log in from this address; null if it may. */
function logInForbidden({ scopes, clients }: Principal, address: string): string | null {
  if (!scopes.has("email:send")) return "sending needs an API key with the scope email:send";
  const isRefusedHere = clients !== null && !isClientIn(address, clients);
  return isRefusedHere ? "this API key is not accepted from this client's address" : null;
}

/** One mail, or one refused log-in, in the request log: only its first outcome is logged. */
class SubmissionRecord {
  readonly requestId = newRequestId();
  private readonly startedAt = performance.now();
  private isLogged = false;

  constructor(
    private readonly log: RequestLog,
    private readonly principal: Principal | null,
    private readonly endedKey: EndedKey | null = null,
  ) {}

  accepted(): void {
    this.tell(202, null);
  }

  /** The reply to an error, with only what a client may know about it. */
  refused(error: unknown): SmtpReply {
    const known = problemOf(error);
    const problem = known ?? new Problem("INTERNAL_ERROR");
    if (problem.status >= 500) this.log.failed(this.requestId, reasonOf(error));
    this.tell(problem.status, problem.code);
    return replyOf(problem);
  }

  private tell(status: number, code: Problem["code"] | null): void {
    if (this.isLogged) return;
    this.isLogged = true;
    const { requestId, principal, endedKey } = this;
    const caller = callerFields(principal, endedKey);
    const durationMs = Math.round(performance.now() - this.startedAt);
    const line = { requestId, method: "SMTP", path: "submission", status, code, ...caller, durationMs };
    this.log.answered({ status, hasHungUp: false, hasEndedKey: endedKey !== null, line: () => line });
  }
}

async function take(
  options: SubmissionOptions,
  { timeouts, tempfailed }: Shared,
  { user, recipients, content }: IncomingMail<Principal>,
): Promise<SmtpReply> {
  const { bodies, requests, log } = options;
  const record = new SubmissionRecord(log, user);
  const body = bodies.open(user.workspaceId);
  // Begins before we check whether the log is frozen: once a freeze sees no request in flight, none gets in later.
  requests.begin();
  // Called when the work is over, even long after the reply: until then the bytes are in memory.
  const end = () => {
    body.release();
    requests.end();
  };
  let read: ReadMailBytes;
  try {
    read = await readMailBytes(content, body);
  } catch (error) {
    end();
    if (!(error instanceof Problem)) throw error;
    return { ...record.refused(error), isLast: true };
  }
  if (read.kind === "tooLarge") {
    end();
    const refused = record.refused(contentTooLarge());
    return read.isCut ? { ...refused, isLast: true } : refused;
  }
  const submitted = { principal: user, recipients, bytes: read.bytes };
  const ownKey = tempfailed.ownKeyOf(submitted);
  const mail = { ...submitted, requestId: record.requestId, ownKey };
  const answered = accept(options, mail).then(
    (accepted) => {
      record.accepted();
      return accepted;
    },
    (error: unknown) => record.refused(error),
  );
  const answer = await timeouts.within(answered.finally(end), () => record.refused(TOO_LATE));
  if (answer.code >= 400 && answer.code < 500) tempfailed.add(submitted, ownKey);
  return answer;
}

async function accept(options: SubmissionOptions, mail: Submitted): Promise<SmtpReply> {
  if (await options.isClosed()) throw FROZEN;
  const principal = await principalOfKey(options.deps, mail.principal.keyId);
  if (principal === null) throw REVOKED;
  const ids = await submitMail(options, { ...mail, principal });
  const [first] = ids;
  const text =
    ids.length === 1 ? `accepted as ${first}` : `accepted ${ids.length} messages, the first as ${first}`;
  return reply(250, "2.6.0", text);
}
