import { Elysia } from "elysia";
import { recordEmailFeedback } from "../../commands/email/feedback/recordEmailFeedback.ts";
import { signatureReplayGuard } from "../../commands/email/feedback/signatureReplayGuard.ts";
import {
  type ProviderReports,
  suppressUnmatched,
  takeProviderReport,
} from "../../commands/email/feedback/takeProviderReport.ts";
import { readWorkspace } from "../../commands/workspace/readWorkspace.ts";
import type { FeedbackSource } from "../../domain/email/feedback/feedbackDecision.ts";
import { readMailgunEvent } from "../../domain/email/feedback/mailgunEvent.ts";
import { objectOf, type ProviderFeedback, textOf } from "../../domain/email/feedback/providerFeedback.ts";
import { readResendEvent } from "../../domain/email/feedback/resendEvent.ts";
import { readSendgridEvent } from "../../domain/email/feedback/sendgridEvent.ts";
import { fairMutex } from "../../kernel/concurrency/fairMutex.ts";
import { checkMailgunSignature } from "../../kernel/crypto/mailgunSignature.ts";
import { type SendgridKey, sendgridSignatureCheck } from "../../kernel/crypto/sendgridSignature.ts";
import { sha256Of } from "../../kernel/crypto/sha256.ts";
import { checkWebhookSignature, type SignatureFinding } from "../../kernel/crypto/webhookSignature.ts";
import { isUuid } from "../../kernel/ids.ts";
import { lazy } from "../../kernel/lazy.ts";
import { isObject, parseJson } from "../../kernel/text/json.ts";
import { ContentStoreError } from "../../ports/contentStore.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { readBytes, requireIdentity } from "../body/bodyBytes.ts";
import { requireBoundedShape } from "../body/jsonLimits.ts";
import { checkBy } from "../body/validation.ts";
import { invalid, Problem } from "../server/problem.ts";
import { bodyWithoutKey, requestContextOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { UnmatchedQuery } from "./feedbackOperations.ts";
import { type MessageSearch, messageSentAs } from "./messageSentAs.ts";

export interface SignedReportsOptions extends MessageSearch {
  /** Whether a bounce keeps its recipient's domain for good. */
  readonly bounceDomains: boolean;
  readonly onUnmatched: ProviderReports["onUnmatched"];
  /** Told of each call that was refused, and why: its sender may show that to nobody. */
  readonly onRefused: (source: FeedbackSource, why: string) => void;
  /** The secrets of Resend's webhooks; without any, no report of Resend is taken. */
  readonly resendSecrets: readonly Uint8Array[];
  /** Mailgun's signing keys; without any, no report of Mailgun is taken. */
  readonly mailgunKeys: readonly string[];
  /** The keys of SendGrid's webhooks; without any, no report of SendGrid is taken. */
  readonly sendgridKeys: readonly SendgridKey[];
}

/** A provider's call, with its body as it came. */
interface Call {
  readonly headers: Headers;
  readonly body: string;
  /** As in the path, in lower case; it may name none. */
  readonly workspaceId: string;
  /** In ms. */
  readonly now: number;
}

/** A provider that has no API key of ours, but signs its calls so that we can check it. */
interface SignedProvider {
  readonly source: Extract<FeedbackSource, "resend" | "mailgun" | "sendgrid">;
  readonly name: string;
  readonly route: (typeof routes)["takeResendEvent" | "takeMailgunEvent" | "takeSendgridEvents"];
  /** The setting that holds its secrets or public keys, and whether it holds any. */
  readonly setting: string;
  readonly isSet: boolean;
  /** What it takes for success. */
  readonly status: 200 | 204;
  /** Has `take` record what the events of a call say. Throws a Problem unless the provider has signed it. */
  readonly read: (call: Call, take: (events: readonly unknown[]) => Promise<void>) => Promise<void>;
  readonly readEvent: (event: unknown) => ProviderFeedback;
}

export function signedReportsController(options: SignedReportsOptions) {
  const controller = new Elysia({ normalize: false });
  const { resendSecrets, mailgunKeys, sendgridKeys } = options;
  for (const provider of [resend(resendSecrets), mailgun(mailgunKeys), sendgrid(sendgridKeys)])
    addRoute(controller, provider, options);
  return controller;
}

function resend(secrets: readonly Uint8Array[]): SignedProvider {
  const setting = "RESEND_WEBHOOK_SECRET";
  return {
    source: "resend",
    name: "Resend",
    route: routes.takeResendEvent,
    setting,
    isSet: secrets.length > 0,
    status: 204,
    async read({ headers, body, now }, take) {
      const header = (name: string) => headers.get(`svix-${name}`) ?? "";
      const [id, timestamp, signature] = [header("id"), header("timestamp"), header("signature")];
      requireSigned(checkWebhookSignature(secrets, { id, timestamp, signature, body }, now), setting);
      await take([eventIn(body)]);
    },
    readEvent: readResendEvent,
  };
}

function mailgun(keys: readonly string[]): SignedProvider {
  const setting = "MAILGUN_WEBHOOK_SIGNING_KEY";
  // Its room is taken only where Mailgun reports.
  const tokens = lazy(signatureReplayGuard);
  return {
    source: "mailgun",
    name: "Mailgun",
    route: routes.takeMailgunEvent,
    setting,
    isSet: keys.length > 0,
    // It repeats a call after any other status.
    status: 200,
    async read({ body, workspaceId, now }, take) {
      const event = eventIn(body);
      const given = objectOf(event.signature);
      const token = textOf(given.token);
      // Its manual calls the timestamp a number and shows a text.
      const timestamp = typeof given.timestamp === "number" ? `${given.timestamp}` : textOf(given.timestamp);
      const signed = { timestamp, token, signature: textOf(given.signature) };
      requireSigned(checkMailgunSignature(keys, signed, now), setting);
      const call = { token, digest: sha256Of(body), workspaceId };
      const used = await tokens()(call, () => take([event["event-data"]]));
      if (used === "reused") throw refused("the token of its signature has come with another body before");
    },
    readEvent: readMailgunEvent,
  };
}

function sendgrid(keys: readonly SendgridKey[]): SignedProvider {
  const setting = "SENDGRID_VERIFICATION_KEY";
  const calls = lazy(signatureReplayGuard);
  const check = sendgridSignatureCheck(keys);
  // A call may have 1 MB, and as many as have come at once would be hashed in one turn.
  const { run: inTurn } = fairMutex();
  return {
    source: "sendgrid",
    name: "SendGrid",
    route: routes.takeSendgridEvents,
    setting,
    isSet: keys.length > 0,
    status: 204,
    async read({ headers, body, workspaceId, now }, take) {
      const header = (name: string) => headers.get(`x-twilio-email-event-webhook-${name}`) ?? "";
      const signed = { timestamp: header("timestamp"), body, signature: header("signature") };
      requireSigned(await inTurn(setting, () => check(signed, now)), setting);
      const events = parseJson(body);
      if (!Array.isArray(events)) throw refused("the call is not a JSON array of events");
      // Not the time or the signature: a repeat may be signed anew.
      const digest = sha256Of(body);
      await calls()({ token: digest, digest, workspaceId }, () => take(events));
    },
    readEvent: readSendgridEvent,
  };
}

/** A call that is not taken for a reason that whoever runs the service can remove. */
class RefusedCall extends Problem {}

function refused(detail: string): Problem {
  return new RefusedCall("INVALID_REQUEST", { detail });
}

function requireSigned(finding: SignatureFinding, setting: string): void {
  if (finding === "forged") throw refused(`the call is not signed with a secret or key in ${setting}`);
  if (finding === "outdated") {
    throw refused("the time of the call is too far from this machine's clock: is it set right?");
  }
}

function eventIn(body: string): Readonly<Record<string, unknown>> {
  const event = parseJson(body);
  if (!isObject(event)) throw refused("the call is not a JSON object");
  return event;
}

const checkQuery = checkBy(UnmatchedQuery);
/** Keeps a byte order mark, which is signed too. */
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function addRoute(controller: Elysia, provider: SignedProvider, options: SignedReportsOptions): void {
  const { route, source } = provider;
  controller.post(
    route.path,
    async ({ body, params, query, request, set }) => {
      const workspaceId = params.workspace_id.toLowerCase();
      const call = { headers: request.headers, body: String(body), workspaceId, now: options.clock.now() };
      const taken = provider.read(call, async (events) => {
        checkQuery(query);
        const reports = await reportsOf(options, provider, {
          workspaceId,
          suppresses: query.suppress_unmatched === "true",
          correlationId: requestContextOf(request).requestId,
        });
        await takeEach(options, events, (event) => takeProviderReport(reports, provider.readEvent(event)));
      });
      await taken.catch((error: unknown) => {
        if (error instanceof RefusedCall) options.onRefused(source, error.message);
        throw error;
      });
      set.status = provider.status;
    },
    {
      async parse({ request }) {
        if (!provider.isSet) {
          const detail = `${provider.setting} is not set`;
          options.onRefused(source, detail);
          throw new Problem("NOT_FOUND", { detail });
        }
        requireIdentity(request.headers);
        // Without a key, they share room for their bodies.
        const bytes = await readBytes(request, bodyWithoutKey(request, source), route.bodyBytesMax);
        requireBoundedShape(bytes);
        try {
          return utf8.decode(bytes);
        } catch {
          throw invalid("", "is not UTF-8");
        }
      },
    },
  );
}

/**
 * Takes the events of a call, in any order. One that cannot be taken, because its message is damaged for example, keeps
 * no other from being taken, unless the log is away. The call fails at the end, so that the provider repeats it.
 */
async function takeEach(
  { readModel }: Pick<SignedReportsOptions, "readModel">,
  events: readonly unknown[],
  take: (event: unknown) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  await readModel("emails").scheduler.mapEach(events, async (event) => {
    try {
      await take(event);
    } catch (error) {
      if (isLogAway(error)) throw error;
      failures.push(error);
    }
  });
  if (failures.length > 0) throw failures[0];
}

function isLogAway(error: unknown): boolean {
  if (!(error instanceof StoreError) || error instanceof ContentStoreError) return false;
  return error.failure !== "tooLarge";
}

interface Addressed {
  readonly workspaceId: string;
  /** Whether an address is suppressed because of mail that was not sent from here. */
  readonly suppresses: boolean;
  readonly correlationId: string;
}

/** How the provider's reports on a workspace's messages are taken. Throws NOT_FOUND if there is no such workspace. */
async function reportsOf(
  options: SignedReportsOptions,
  { source, name }: SignedProvider,
  { workspaceId: id, suppresses, correlationId }: Addressed,
): Promise<ProviderReports> {
  if (!isUuid(id) || (await readWorkspace(options, id)) === null) {
    throw new RefusedCall("NOT_FOUND", { detail: "the path names no workspace of this service" });
  }
  const context = { at: options.clock.now(), actor: source, correlationId, workspaceId: id };
  return {
    source,
    record: (emailId, report) => recordEmailFeedback(options, emailId, report, { ...context, source }),
    findSentAs: (sentAs) => messageSentAs(options, id, sentAs),
    onUnmatched: options.onUnmatched,
    ...(suppresses ? { suppressUnmatched: (found) => suppressUnmatched(options, name, found, context) } : {}),
  };
}
