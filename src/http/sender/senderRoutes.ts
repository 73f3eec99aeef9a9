import { Elysia } from "elysia";
import { listSenders } from "../../../projections/senders.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { newSender, type SenderName, setSender } from "../../commands/sender/manageSender.ts";
import { readSender, type SenderView } from "../../commands/sender/readSender.ts";
import { requestSenderVerification } from "../../commands/sender/requestSenderVerification.ts";
import { confirmVerificationLink, readVerificationLink } from "../../commands/sender/verificationLink.ts";
import { domainRecordOf, domainVerification } from "../../commands/sender/verifySenderDomain.ts";
import type { Sender } from "../../domain/sender/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { parseAddress, parseDomain } from "../../kernel/text/emailAddress.ts";
import { type EpochMs, rfc3339, SECOND_MS } from "../../kernel/time.ts";
import { type DnsResolver, DnsUnavailableError } from "../../ports/dnsResolver.ts";
import { NoQuery } from "../body/commonSchemas.ts";
import { caughtUpRows, type ReadModel } from "../lists/caughtUpReads.ts";
import { decodeCursor, pageItems, pageOf } from "../lists/cursorPaging.ts";
import { authorize, authorizeThenRead, authorizeUnread } from "../server/authorization.ts";
import { invalid, Problem } from "../server/problem.ts";
import { commandContextOf, principalOf, requestContextOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { senderPage } from "./confirmationPage.ts";
import { AddSenderBody, ListSendersQuery, type SenderResource, VerifySenderBody } from "./senderSchemas.ts";

interface SendersOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
  /** The read model `senders`. */
  readonly senders: ReadModel;
  readonly dns: DnsResolver;
  /** Whether this service has an address to mail verification links from. */
  readonly mailsLinks: boolean;
}

/** Adding, listing, verifying and switching senders. */
export function sendersController({ deps, basePath, senders, dns, mailsLinks }: SendersOptions) {
  const verifyDomain = domainVerification(deps, dns);
  const json = (view: SenderView) => senderJson(deps, view);
  const verify = { deps, mailsLinks, verifyDomain };
  return new Elysia({ normalize: false })
    .post(
      routes.addSender.path,
      async ({ body, request, set }) => {
        const { workspaceId } = principalOf(request);
        const added = await newSender(
          deps,
          { workspaceId, ...senderOf(body) },
          commandContextOf(request, deps),
        );
        invariant(added, "a key's workspace exists");
        set.status = added.outcome === "added" ? 201 : 200;
        set.headers.location = `${basePath}/api/v1/senders/${added.id}`;
        return json(await existing(deps, request, added.id));
      },
      { parse: authorizeThenRead(deps, routes.addSender), body: AddSenderBody, query: NoQuery },
    )
    .get(
      routes.listSenders.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const after = query.cursor === undefined ? {} : { after: decodeCursor(query.cursor, isSenderId) };
        const limit = pageItems(query.limit);
        const rows = listSenders(await caughtUpRows(senders), { workspaceId, ...after, limit: limit + 1 });
        const { shown, nextCursor } = pageOf(rows, limit);
        // Addresses are in the senders' own streams only.
        const views = await senders.scheduler.mapEach(shown, ({ id }) => existing(deps, request, id));
        return { data: views.map(json), next_cursor: nextCursor };
      },
      { transform: authorize(deps, routes.listSenders), query: ListSendersQuery },
    )
    .get(
      routes.getSender.path,
      async ({ params, request }) => json(await existing(deps, request, params.id)),
      { transform: authorize(deps, routes.getSender), query: NoQuery },
    )
    .post(
      routes.requestSenderVerification.path,
      async ({ body, params, request }) => {
        const view = await existing(deps, request, params.id);
        await verifyBy(body.method, verify, request, view);
        return json(await existing(deps, request, view.id));
      },
      {
        parse: authorizeThenRead(deps, routes.requestSenderVerification),
        body: VerifySenderBody,
        query: NoQuery,
      },
    )
    .post(
      routes.disableSender.path,
      async ({ params, request }) => json(await switched(deps, request, params.id, "disabled")),
      { parse: authorizeUnread(deps, routes.disableSender), query: NoQuery },
    )
    .post(
      routes.enableSender.path,
      async ({ params, request }) => json(await switched(deps, request, params.id, "enabled")),
      { parse: authorizeUnread(deps, routes.enableSender), query: NoQuery },
    );
}

/** The pages behind a mailed link: whoever holds it needs no key. */
export function senderPagesController(deps: Dependencies) {
  return new Elysia({ normalize: false })
    .get(routes.showSenderVerification.path, async ({ params, request }) => {
      const { standing, requester } = await readVerificationLink(deps, params.token);
      return senderPage(standing, requestContextOf(request).requestId, requester);
    })
    .post(
      routes.confirmSenderVerification.path,
      async ({ params, request }) => {
        const { requestId } = requestContextOf(request);
        const context = { at: deps.clock.now(), correlationId: requestId, actor: "verification-link" };
        return senderPage(await confirmVerificationLink(deps, params.token, context), requestId);
      },
      // A browser posts an empty form, which nobody reads.
      { parse: async () => null },
    );
}

function isSenderId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** What cannot stand in a header, or would make a name read otherwise than it is. */
const NOT_IN_NAMES = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u;
/** The record's name has room for the domain behind `_postledger.` (RFC 1035 §2.3.4). */
const DOMAIN_CHARACTERS_MAX = 253 - "_postledger.".length;

function senderOf(body: AddSenderBody): { name: SenderName; displayName?: string } {
  const { address, domain, display_name: displayName = null } = body;
  if ((address === undefined) === (domain === undefined)) {
    throw invalid("", "must have exactly one of address and domain");
  }
  if (displayName !== null && domain !== undefined)
    throw invalid("/display_name", "goes with an address only");
  if (displayName !== null && (NOT_IN_NAMES.test(displayName) || displayName.trim() === "")) {
    throw invalid("/display_name", "must have visible characters, and no control characters");
  }
  const named = displayName === null ? {} : { displayName };
  if (address !== undefined) {
    const parsed = parseAddress(address);
    if ("invalid" in parsed) throw invalid("/address", parsed.invalid);
    return { name: { kind: "address", address: parsed }, ...named };
  }
  const parsed = parseDomain(domain ?? "");
  if (parsed === null || parsed.length > DOMAIN_CHARACTERS_MAX) {
    throw invalid("/domain", `must be a fully qualified name of at most ${DOMAIN_CHARACTERS_MAX} characters`);
  }
  return { name: { kind: "domain", domain: parsed } };
}

async function existing(deps: Dependencies, request: Request, id: string): Promise<SenderView> {
  const { workspaceId } = principalOf(request);
  const view = isSenderId(id) ? await readSender(deps, workspaceId, id) : null;
  if (view === null) throw new Problem("NOT_FOUND");
  return view;
}

async function switched(deps: Dependencies, request: Request, id: string, to: "disabled" | "enabled") {
  const view = await existing(deps, request, id);
  await setSender(deps, view.id, to, commandContextOf(request, deps));
  return existing(deps, request, view.id);
}

interface Verifying {
  readonly deps: Dependencies;
  readonly mailsLinks: boolean;
  readonly verifyDomain: ReturnType<typeof domainVerification>;
}

async function verifyBy(method: "email" | "dns", on: Verifying, request: Request, view: SenderView) {
  const { kind } = view.sender;
  if ((method === "dns") !== (kind === "domain")) {
    throw invalid("/method", kind === "domain" ? "must be dns for a domain" : "must be email for an address");
  }
  if (method === "dns") await verifyByDns(on, request, view);
  else await verifyByMail(on, request, view);
}

async function verifyByMail({ deps, mailsLinks }: Verifying, request: Request, view: SenderView) {
  if (!mailsLinks && view.sender.verifiedBy === null) {
    throw new Problem("SENDER_VERIFICATION_UNAVAILABLE", {
      detail: "the operator has set no VERIFICATION_FROM",
    });
  }
  const context = commandContextOf(request, deps);
  const outcome = await requestSenderVerification(deps, view, context);
  if (outcome.kind === "suppressed") throw new Problem("RECIPIENT_SUPPRESSED");
  if (outcome.kind === "limited") throw tooMany("verification mails", outcome.againAt, context.at);
}

async function verifyByDns({ deps, verifyDomain }: Verifying, request: Request, view: SenderView) {
  const context = commandContextOf(request, deps);
  const outcome = await verifyDomain(view, context).catch((error: unknown) => {
    if (!(error instanceof DnsUnavailableError)) throw error;
    throw new Problem("INTERNAL_ERROR", { unavailable: true, detail: error.message });
  });
  if (outcome.kind === "limited") throw tooMany("look-ups", outcome.againAt, context.at);
  if (outcome.kind === "recordMissing") {
    const { name, value } = outcome.expected;
    throw new Problem("SENDER_VERIFICATION_FAILED", { detail: `no TXT record of ${name} is "${value}"` });
  }
}

function tooMany(what: string, againAt: EpochMs, now: EpochMs): Problem {
  const seconds = Math.max(1, Math.ceil((againAt - now) / SECOND_MS));
  return new Problem("RATE_LIMITED", {
    detail: `there were too many ${what}; try again later`,
    headers: { "retry-after": String(seconds) },
  });
}

function statusOf({ disabled, verifiedBy }: Sender): SenderResource["status"] {
  if (disabled) return "disabled";
  return verifiedBy === null ? "unverified" : "verified";
}

/** The newest link of an address that is not verified, unless it is over. */
function verificationJson(
  { keys, clock }: Dependencies,
  id: string,
  { verifiedBy, requests }: Sender,
): SenderResource["verification"] {
  const newest = requests.at(-1);
  if (verifiedBy !== null || newest === undefined || clock.now() >= newest.expiresAt) return null;
  return {
    code: keys.verificationCode(id, newest.id),
    requested_at: rfc3339(newest.requestedAt),
    expires_at: rfc3339(newest.expiresAt),
  };
}

function senderJson(deps: Dependencies, { id, sender, createdAt, updatedAt }: SenderView): SenderResource {
  const { workspaceId, kind, name, displayName, verifiedBy } = sender;
  const isDomain = kind === "domain";
  return {
    id,
    object: "sender",
    kind,
    address: isDomain ? null : name,
    domain: isDomain ? name : null,
    display_name: displayName,
    status: statusOf(sender),
    verified_by: verifiedBy,
    record_missing_since: sender.recordMissingSince === null ? null : rfc3339(sender.recordMissingSince),
    verification: verificationJson(deps, id, sender),
    dns_record: isDomain ? { type: "TXT", ...domainRecordOf(deps.keys, workspaceId, name) } : null,
    created_at: createdAt,
    updated_at: updatedAt,
  };
}
