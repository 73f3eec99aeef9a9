/** @jsxImportSource hono/jsx */
import {
  type AuthenticationFault,
  authenticate,
  type Principal,
} from "../../../commands/apiKey/authenticate.ts";
import { type RedeemOutcome, redeemLogInLink } from "../../../commands/apiKey/logInLink.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { SMALL_BODY_BYTES_MAX } from "../../body/bodyLimits.ts";
import { healthStatus } from "../../health/healthController.ts";
import { countFailure, isFromAllowedClient } from "../../server/authorization.ts";
import { bodyWithoutKey, requestContextOf } from "../../server/requestContext.ts";
import { urlOf } from "../../server/requestTarget.ts";
import type { Assets } from "../frame/assets.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { DASHBOARD_PATH } from "../frame/dashboardRoute.ts";
import { seeOther } from "../frame/flashMessages.ts";
import { readForm } from "../frame/formBody.ts";
import { htmlResponse } from "../frame/pageHeaders.ts";
import type { Session, Sessions } from "../frame/sessions.ts";
import { keysOfPerson, principalOfPerson } from "./keysOfPerson.ts";
import { LogInPage } from "./logInPage.tsx";

interface LogInOptions
  extends Pick<
    DashboardOptions,
    "deps" | "readModel" | "basePath" | "version" | "readiness" | "trialKeyFile"
  > {
  readonly sessions: Sessions;
  readonly assets: Assets;
}

/** The log-in page and its forms. `person` is whom the login proxy names; null: nobody. */
interface LogIn {
  show(request: Request, person: string | null): Promise<Response>;
  submit(request: Request, person: string | null): Promise<Response>;
}

/** Owner of log-in bodies in the memory limit, because the user is not known yet. */
const BODIES_OF = "log-in";

/** Why a log-in failed, and what to do. Without the whole secret, nobody learns what exists. */
const KEY_FAULTS: Readonly<Record<AuthenticationFault, string>> = {
  missing: "Paste an API key or a log-in link.",
  noBearer: "This is neither an API key nor a log-in link.",
  malformed:
    "This is neither an API key nor a log-in link: a key begins with pl_ and has 53 characters, or with pl_test_ and 58. Was it cut when it was copied?",
  unknown: "This service does not know the key: it may belong to another installation.",
  revoked: "The key was revoked. Use another one.",
  expired: "The key has expired. Use another one.",
};

const LINK_FAULTS: Readonly<Record<Exclude<RedeemOutcome["kind"], "redeemed">, string>> = {
  unknown: "This is neither an API key nor a log-in link of this service. Was it cut when it was copied?",
  expired: `The link has expired. Make another one: ${POSTLEDGER} dashboard link`,
  used: `The link was used already. Make another one: ${POSTLEDGER} dashboard link`,
};

/** A successful log-in, by its key. */
type Admitted = Pick<Session, "keyId" | "hasOwnKey">;

/** What leads to the log-in page, by a member of its query. */
const NOTICES = {
  ended: "Your session has ended. Log in again to continue.",
  out: "You are logged out.",
} as const;

/** What a page says beside its forms. */
interface Told {
  readonly next: string;
  readonly person: string | null;
  readonly fault?: string | null;
  readonly notice?: string | null;
}

export function createLogIn(options: LogInOptions): LogIn {
  const { sessions, assets, basePath, version, readiness, trialKeyFile } = options;
  const home = `${basePath}${DASHBOARD_PATH}`;
  const page = async (status: number, { next, person, fault = null, notice = null }: Told) => {
    // Everybody sees this page: what is wrong around the service is shown after the log-in.
    const isReady = healthStatus(await readiness()) !== "unavailable";
    const keyFile = await trialKeyFile();
    const offer = person === null ? null : { person, ...(await keysOfPerson(options, person)) };
    return htmlResponse(
      `<!doctype html>${(
        <LogInPage
          assets={assets}
          assetsAt={`${home}/assets/`}
          action={`${home}/log-in`}
          next={next}
          offer={offer}
          fault={fault}
          notice={notice}
          isReady={isReady}
          trialKeyFile={keyFile}
          version={version}
          docsAt={`${basePath}/docs`}
        />
      )}`,
      status,
    );
  };
  const refuse = async (request: Request, told: Told) => {
    const waitSeconds = countFailure(request);
    if (waitSeconds === null) return page(401, told);
    const fault = `Too many log-ins have failed. Try again in ${waitSeconds} seconds.`;
    const answer = await page(429, { ...told, fault });
    answer.headers.set("retry-after", String(waitSeconds));
    return answer;
  };
  return {
    async show(request, person) {
      const query = urlOf(request).searchParams;
      const notice = Object.entries(NOTICES).find(([name]) => query.has(name))?.[1] ?? null;
      return page(200, { next: nextOf(query.get("next"), home), person, notice });
    },
    async submit(request, person) {
      const form = await readForm(request, bodyWithoutKey(request, BODIES_OF), SMALL_BODY_BYTES_MAX);
      const next = nextOf(form.get("next"), home);
      const keyId = form.get("key_id");
      const admitted = await (keyId === null
        ? admit(options.deps, request, (form.get("secret") ?? "").trim())
        : admitPerson(options.deps, request, person, keyId));
      if (typeof admitted === "string") return refuse(request, { next, person, fault: admitted });
      const response = seeOther(next);
      response.headers.set("set-cookie", sessions.begin({ ...admitted, person }));
      return response;
    },
  };
}

/** The key that a secret gives access to, or why it does not. In a pasted link, the part after # counts. */
async function admit(deps: Dependencies, request: Request, secret: string): Promise<Admitted | string> {
  if (secret === "" || secret.startsWith("pl_")) return admitByKey(deps, request, secret);
  const { requestId } = requestContextOf(request);
  const token = secret.slice(secret.lastIndexOf("#") + 1);
  const context = { at: deps.clock.now(), correlationId: requestId, actor: "cli" };
  const outcome = await redeemLogInLink(deps, token, context);
  if (outcome.kind !== "redeemed") return LINK_FAULTS[outcome.kind];
  return { keyId: outcome.keyId, hasOwnKey: true };
}

async function admitByKey(deps: Dependencies, request: Request, key: string): Promise<Admitted | string> {
  const principal = await authenticate(deps, key === "" ? null : `Bearer ${key}`);
  if ("fault" in principal) {
    requestContextOf(request).endedKey = principal.endedKey;
    return KEY_FAULTS[principal.fault];
  }
  return admitFromClient(request, principal);
}

/** A person whom the login proxy names needs no secret, but a key that is theirs. */
async function admitPerson(
  deps: Dependencies,
  request: Request,
  person: string | null,
  keyId: string,
): Promise<Admitted | string> {
  if (person === null) return "Single sign-on did not say who you are. Reload the page.";
  const principal = await principalOfPerson(deps, person, keyId);
  return principal === null
    ? "This key is no longer yours to log in with."
    : admitFromClient(request, principal);
}

function admitFromClient(request: Request, principal: Principal): Admitted | string {
  if (isFromAllowedClient(request, principal)) return { keyId: principal.keyId, hasOwnKey: false };
  return "The key is not accepted from this computer's address.";
}

/** A segment of a path that means the folder above, as browsers read it (URL Standard, "double-dot URL path segment"). */
const TO_FOLDER_ABOVE = /\/(?:\.|%2e){2}(?:[/?#]|$)/i;

/** Where a log-in leads: always a dashboard page, whatever the address says. */
function nextOf(wanted: string | null, home: string): string {
  const isOwn = wanted !== null && (wanted === home || wanted.startsWith(`${home}/`));
  return isOwn && /^[\x21-\x5b\x5d-\x7e]*$/.test(wanted) && !TO_FOLDER_ABOVE.test(wanted) ? wanted : home;
}
