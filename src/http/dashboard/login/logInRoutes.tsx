/** @jsxImportSource hono/jsx */
import { type AuthenticationFault, authenticate } from "../../../commands/apiKey/authenticate.ts";
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
import type { Sessions } from "../frame/sessions.ts";
import { LogInPage } from "./logInPage.tsx";

interface LogInOptions
  extends Pick<DashboardOptions, "deps" | "basePath" | "version" | "readiness" | "trialKeyFile"> {
  readonly sessions: Sessions;
  readonly assets: Assets;
}

/** The log-in page and its form. */
interface LogIn {
  show(request: Request): Promise<Response>;
  submit(request: Request): Promise<Response>;
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
interface Admitted {
  readonly keyId: string;
  readonly hasOwnKey: boolean;
}

export function createLogIn(options: LogInOptions): LogIn {
  const { sessions, assets, basePath, version, readiness, trialKeyFile } = options;
  const home = `${basePath}${DASHBOARD_PATH}`;
  const page = async (next: string, status: number, told: { fault?: string; notice?: string }) => {
    // Everybody sees this page: what is wrong around the service is shown after the log-in.
    const isReady = healthStatus(await readiness()) !== "unavailable";
    const keyFile = await trialKeyFile();
    return htmlResponse(
      `<!doctype html>${(
        <LogInPage
          assets={assets}
          assetsAt={`${home}/assets/`}
          action={`${home}/log-in`}
          next={next}
          fault={told.fault ?? null}
          notice={told.notice ?? null}
          isReady={isReady}
          trialKeyFile={keyFile}
          version={version}
          docsAt={`${basePath}/docs`}
        />
      )}`,
      status,
    );
  };
  const refuse = async (request: Request, next: string, fault: string) => {
    const waitSeconds = countFailure(request);
    if (waitSeconds === null) return page(next, 401, { fault });
    const tooMany = `Too many log-ins have failed. Try again in ${waitSeconds} seconds.`;
    const answer = await page(next, 429, { fault: tooMany });
    answer.headers.set("retry-after", String(waitSeconds));
    return answer;
  };
  return {
    async show(request) {
      const query = urlOf(request).searchParams;
      const notice = query.has("ended")
        ? { notice: "Your session has ended. Log in again to continue." }
        : {};
      return page(nextOf(query.get("next"), home), 200, notice);
    },
    async submit(request) {
      const form = await readForm(request, bodyWithoutKey(request, BODIES_OF), SMALL_BODY_BYTES_MAX);
      const next = nextOf(form.get("next"), home);
      const admitted = await admit(options.deps, request, (form.get("secret") ?? "").trim());
      if (typeof admitted === "string") return refuse(request, next, admitted);
      const { keyId, hasOwnKey } = admitted;
      const response = seeOther(next);
      response.headers.set("set-cookie", sessions.begin(keyId, { hasOwnKey }));
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
  if (!isFromAllowedClient(request, principal))
    return "The key is not accepted from this computer's address.";
  return { keyId: principal.keyId, hasOwnKey: false };
}

/** Where a log-in leads: always a dashboard page, whatever the address says. */
function nextOf(wanted: string | null, home: string): string {
  const isOwn = wanted !== null && (wanted === home || wanted.startsWith(`${home}/`));
  return isOwn && /^[\x21-\x5b\x5d-\x7e]*$/.test(wanted) && !wanted.includes("/../") ? wanted : home;
}
