import { Elysia } from "elysia";
import { countSenders, listSenders } from "../../../projections/senders.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { newSender, senderIdOf, setSender } from "../../commands/sender/manageSender.ts";
import { readSender, type SenderView } from "../../commands/sender/readSender.ts";
import { requestSenderVerification } from "../../commands/sender/requestSenderVerification.ts";
import { confirmVerificationLink, readVerificationLink } from "../../commands/sender/verificationLink.ts";
import { domainVerification } from "../../commands/sender/verifySenderDomain.ts";
import { queueStreamWrite } from "../../commands/streamWriteQueue.ts";
import { SENDERS_MAX } from "../../domain/sender/decisions.ts";
import { invariant } from "../../kernel/assert.ts";
import { type EpochMs, SECOND_MS } from "../../kernel/time.ts";
import { type DnsResolver, DnsUnavailableError } from "../../ports/dnsResolver.ts";
import { caughtUpRows, caughtUpRowsIfInTime, type ReadModel } from "../lists/caughtUpReads.ts";
import { pageJson, pageOf, pageRequest } from "../lists/cursorPaging.ts";
import { hooksOf } from "../server/operationHooks.ts";
import { invalid, Problem } from "../server/problem.ts";
import { commandContextOf, principalOf, requestContextOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { addedSender } from "./addSenderRequest.ts";
import { senderPage } from "./confirmationPage.ts";
import { senderOperations } from "./senderOperations.ts";
import { senderJson } from "./senderResource.ts";

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
  const hooks = hooksOf(deps, senderOperations);
  const verifyDomain = domainVerification(deps, dns);
  const json = (view: SenderView) => senderJson(deps, view);
  const verify = { deps, mailsLinks, verifyDomain };
  return new Elysia({ normalize: false })
    .post(
      routes.addSender.path,
      async ({ body, request, set }) => {
        const { workspaceId } = principalOf(request);
        const sender = { workspaceId, ...addedSender(body) };
        const add = () => newSender(deps, sender, commandContextOf(request, deps));
        const isKnown = (await deps.senders.get(senderIdOf(deps.keys, workspaceId, sender.name))) !== null;
        // One after the other, so that each is counted before the next one is added.
        const added = isKnown
          ? await add()
          : await queueStreamWrite(deps.store, `senders of ${workspaceId}`, async () => {
              await requireRoom(senders, workspaceId);
              return add();
            });
        invariant(added, "a key's workspace exists");
        set.status = added.outcome === "added" ? 201 : 200;
        set.headers.location = `${basePath}/api/v1/senders/${added.id}`;
        return json(await existing(deps, request, added.id));
      },
      hooks("addSender"),
    )
    .get(
      routes.listSenders.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const asked = pageRequest(query, isSenderId);
        const db = await caughtUpRows(senders);
        const { shown: rows, nextCursor } = pageOf(asked, (page) =>
          listSenders(db, { workspaceId, ...page }),
        );
        // Addresses are in the senders' own streams only.
        const shown = await senders.scheduler.mapEach(rows, ({ id }) => existing(deps, request, id));
        return pageJson({ shown, nextCursor }, json);
      },
      hooks("listSenders"),
    )
    .get(
      routes.getSender.path,
      async ({ params, request }) => json(await existing(deps, request, params.id)),
      hooks("getSender"),
    )
    .post(
      routes.requestSenderVerification.path,
      async ({ body, params, request }) => {
        const view = await existing(deps, request, params.id);
        await verifyBy(body.method, verify, request, view);
        return json(await existing(deps, request, view.id));
      },
      hooks("requestSenderVerification"),
    )
    .post(
      routes.disableSender.path,
      async ({ params, request }) => json(await switched(deps, request, params.id, "disabled")),
      hooks("disableSender"),
    )
    .post(
      routes.enableSender.path,
      async ({ params, request }) => json(await switched(deps, request, params.id, "enabled")),
      hooks("enableSender"),
    );
}

/** The pages behind a mailed link: whoever holds it needs no key. */
export function senderPagesController(deps: Dependencies) {
  return new Elysia({ normalize: false })
    .get(routes.showSenderVerification.path, async ({ params, request }) => {
      const { instanceStatus, requester } = await readVerificationLink(deps, params.token);
      return senderPage(instanceStatus, requestContextOf(request).requestId, requester);
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

async function requireRoom(senders: ReadModel, workspaceId: string): Promise<void> {
  const count = countSenders(await caughtUpRowsIfInTime(senders), workspaceId, SENDERS_MAX);
  if (count < SENDERS_MAX) return;
  const detail = `the workspace has ${SENDERS_MAX} senders, disabled ones included: a domain counts as one, and sends from every address at it`;
  throw new Problem("SENDER_LIMIT_REACHED", { detail });
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
  if (outcome.kind === "zoneFailing") {
    const detail = `the name servers of ${outcome.expected.name} fail (SERVFAIL), so its TXT record could not be read: try again later`;
    throw new Problem("SENDER_VERIFICATION_FAILED", { detail });
  }
  if (outcome.kind === "recordMissing") {
    const { name, value } = outcome.expected;
    const detail = `no TXT record of ${name} is "${value}": ${foundText(outcome.found)}`;
    throw new Problem("SENDER_VERIFICATION_FAILED", { detail });
  }
}

/** Strings of records, and characters of each, that an answer repeats. */
const FOUND_STRINGS_MAX = 3;
const FOUND_CHARACTERS_MAX = 100;

/** What was found in place of a record. Anybody may have written it, so only what can be seen is repeated. */
function foundText(found: readonly string[]): string {
  if (found.length === 0) return "there is no TXT record of this name";
  const shown = found.slice(0, FOUND_STRINGS_MAX).map((text) => {
    const cut = [...text.slice(0, 2 * FOUND_CHARACTERS_MAX)].slice(0, FOUND_CHARACTERS_MAX).join("");
    return `"${cut.replace(/[^\x20-\x7e]/g, "?")}"${cut.length < text.length ? " and more" : ""}`;
  });
  const others = found.length - shown.length;
  return `found ${shown.join(", ")}${others > 0 ? ` and ${others} other strings` : ""}`;
}

function tooMany(what: string, againAt: EpochMs, now: EpochMs): Problem {
  const seconds = Math.max(1, Math.ceil((againAt - now) / SECOND_MS));
  return new Problem("RATE_LIMITED", {
    detail: `there were too many ${what}; try again later`,
    headers: { "retry-after": String(seconds) },
  });
}
