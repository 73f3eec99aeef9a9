/** @jsxImportSource hono/jsx */
import { type AnyElysia, Elysia } from "elysia";
import { revokeKey } from "../../../commands/apiKey/revokeApiKey.ts";
import { permits } from "../../../domain/apiKey/scopes.ts";
import { pauseReason } from "../../../domain/workspace/sendingRates.ts";
import { pausedSince } from "../../../domain/workspace/state.ts";
import { limitsOf } from "../../../domain/workspace/workspaceLimits.ts";
import { derivedId } from "../../../kernel/ids.ts";
import { SMALL_BODY_BYTES_MAX } from "../../body/bodyLimits.ts";
import { requireClient, scopeText, wasLongOnItsWay } from "../../server/authorization.ts";
import { found, LOG_FROZEN, Problem, tooManyRequests, unavailable } from "../../server/problem.ts";
import { beginRead, bodyOf, commandContextOf, requestContextOf } from "../../server/requestContext.ts";
import { urlOf } from "../../server/requestTarget.ts";
import { TOKEN_FIELD } from "../components/form.tsx";
import { Layout } from "../components/layout.tsx";
import { createLiveStreams } from "../live/liveStreams.ts";
import { BarePage } from "../login/logInPage.tsx";
import { createLogIn } from "../login/logInRoutes.tsx";
import { personOf } from "../login/loginProxy.ts";
import { allDashboardRoutes } from "./allDashboardRoutes.ts";
import { type Assets, loadAssets } from "./assets.ts";
import type { DashboardOptions } from "./dashboardOptions.ts";
import {
  DASHBOARD_PATH,
  type DashboardRoute,
  type Page,
  type PageContext,
  post,
  routeTable,
} from "./dashboardRoute.ts";
import { createFlashMessages, noticeOf, seeOther } from "./flashMessages.ts";
import { readForm } from "./formBody.ts";
import { sectionOf } from "./navigation.ts";
import { htmlResponse } from "./pageHeaders.ts";
import { NotBuiltYet, ProblemBody, problemTitle } from "./problemPage.tsx";
import { isFromOwnPage } from "./sameOrigin.ts";
import { createSessions, type LoggedIn } from "./sessions.ts";
import { refusedScript, shownMail } from "./staleTab.ts";

/** What pages are rendered with. */
interface Frame extends DashboardOptions {
  readonly assets: Assets;
  readonly sessions: ReturnType<typeof createSessions>;
  readonly notices: ReturnType<typeof createFlashMessages>;
  readonly table: ReturnType<typeof routeTable>;
  readonly logIn: ReturnType<typeof createLogIn>;
  /** The address of the dashboard's first page. */
  readonly home: string;
}

export interface Dashboard {
  readonly controller: AnyElysia;
  /** Closes the open live streams. */
  stop(): void;
}

/** Builds the dashboard: pages for people, from the same commands and read models as the API. */
export async function createDashboard(options: DashboardOptions): Promise<Dashboard> {
  const { deps, basePath, url } = options;
  const home = `${basePath}${DASHBOARD_PATH}`;
  const cookies = { cookiePath: home, isSecure: url.protocol === "https:" };
  const assets = await loadAssets();
  const sessions = createSessions(deps, cookies);
  const streams = createLiveStreams({ isAlive: (session) => sessions.isAlive(session) });
  const frame: Frame = {
    ...options,
    assets,
    sessions,
    home,
    notices: createFlashMessages(deps.keys, cookies),
    table: routeTable([...allDashboardRoutes(options, streams), ...frameRoutes(options, sessions)]),
    logIn: createLogIn({ ...options, sessions, assets }),
  };
  const answer = async ({ request }: { request: Request }) => answerRequest(frame, request);
  const controller = new Elysia({ normalize: false })
    .all(DASHBOARD_PATH, answer, { parse: "none" })
    .all(`${DASHBOARD_PATH}/*`, answer, { parse: "none" });
  return { controller, stop: () => streams.stop() };
}

/** Actions that belong to no page. */
function frameRoutes({ deps }: DashboardOptions, sessions: Frame["sessions"]): readonly DashboardRoute[] {
  return [
    post("/log-out", null, async ({ session, to, commandContext }) => {
      const cookie = sessions.end(session);
      // This logs out copies of the cookie too, on every instance.
      if (session.hasOwnKey) await revokeKey(deps, session.keyId, commandContext());
      const response = seeOther(to("/log-in?out="));
      response.headers.set("set-cookie", cookie);
      return response;
    }),
    post("/mail", "email:status", async ({ session, form, to }) => {
      const showsTest = form.get("show") === "test";
      const response = seeOther(to("/messages"));
      response.headers.set("set-cookie", sessions.showing(session, showsTest));
      return response;
    }),
  ];
}

async function answerRequest(frame: Frame, request: Request): Promise<Response> {
  const url = urlOf(request);
  const path = url.pathname.slice(frame.home.length).replace(/\/$/, "") || "/";
  const requestContext = requestContextOf(request);
  requestContext.route = `${DASHBOARD_PATH}/…`;
  requestContext.problemPage = (problem) => problemPage(frame, request, problem, null);
  const file = fileOf(frame, request, path);
  if (file !== null) return file;
  const person = personOf(request, frame.loginProxy);
  const open = await answerLogIn(frame, request, path, person);
  if (open !== null) return open;
  if (await frame.isFrozen()) throw unavailable(LOG_FROZEN);
  const found = frame.table.find(request.method, path);
  if ("route" in found) requestContext.route = DASHBOARD_PATH + found.route.path;
  const loggedIn = await frame.sessions.of(request, person);
  if (loggedIn === null) return toLogIn(frame, request, url);
  const params = "route" in found ? found.params : {};
  const asked = { ...loggedIn, path, params, query: url.searchParams };
  const context = await pageContextOf(frame, request, asked);
  // Once the session has ended, there is no user to show a navigation to.
  requestContext.problemPage = (problem) =>
    problemPage(frame, request, problem, problem.code === "UNAUTHORIZED" ? null : context);
  const refused = refusedScript(context);
  if (refused !== null) return refused;
  if (!("route" in found)) throw noSuchPage(request, found.methods);
  await admit(frame, request, context, found.route);
  return answerPage(frame, context, found.route);
}

/** A file of the pages, which needs no session; null for everything else. */
function fileOf({ assets }: Frame, request: Request, path: string): Response | null {
  if (request.method !== "GET" || !path.startsWith("/assets/")) return null;
  // A file sets its own cache lifetime.
  delete requestContextOf(request).answerHeaders["cache-control"];
  return found(assets.answer(path.slice("/assets/".length), request));
}

/** Answers the log-in, which needs no session; null for everything else. `person`: see {@link personOf}. */
async function answerLogIn(
  frame: Frame,
  request: Request,
  path: string,
  person: string | null,
): Promise<Response | null> {
  if (path !== "/log-in") return null;
  if (request.method === "GET") return frame.logIn.show(request, person);
  if (request.method !== "POST") throw noSuchPage(request, ["GET", "POST"]);
  if (!isFromOwnPage(request, frame.url.host)) throw fromElsewhere();
  return frame.logIn.submit(request, person);
}

function noSuchPage(request: Request, methods: readonly string[]): Problem {
  if (methods.length === 0)
    return new Problem("NOT_FOUND", { detail: "there is no such page: the address may have been cut" });
  const allow = methods.includes("GET") ? [...methods, "HEAD"] : methods;
  return new Problem("METHOD_NOT_ALLOWED", {
    detail: `this page does not take ${request.method}`,
    headers: { allow: allow.join(", ") },
  });
}

function fromElsewhere(): Problem {
  return new Problem("FORBIDDEN", { detail: "the form was not sent from a page of this service" });
}

/**
 * Sends somebody without a session to the log-in. A link on another site carries no SameSite=Strict cookie, so the
 * page first reloads itself from here; a reload without a cookie means there is no session.
 */
function toLogIn(frame: Frame, request: Request, url: URL): Response {
  if (request.method !== "GET") return problemPage(frame, request, sessionEnded(), null);
  // A script cannot show the log-in page inside a part of another page, so it reloads the whole page.
  if (request.headers.has("hx-request")) return new Response(null, { status: 401 });
  if (request.headers.get("sec-fetch-site") === "cross-site") {
    return htmlResponse(
      '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0"><title>Postledger</title>',
    );
  }
  const next = url.pathname + url.search;
  const query = new URLSearchParams({
    ...(next === frame.home ? {} : { next }),
    ...(frame.sessions.isShown(request) ? { ended: "" } : {}),
  });
  return seeOther(`${frame.home}/log-in${query.size === 0 ? "" : `?${query}`}`);
}

function sessionEnded(): Problem {
  const detail = "your session has ended, and nothing was changed: log in, then do it again";
  return new Problem("UNAUTHORIZED", { detail });
}

async function pageContextOf(
  frame: Frame,
  request: Request,
  asked: LoggedIn & Pick<PageContext, "path" | "params" | "query">,
): Promise<PageContext> {
  const { deps, basePath, home, sessions, isOutbox } = frame;
  const { session, principal: key } = asked;
  const isTest = key.isTest || session.showsTest === true;
  const principal = { ...key, isTest };
  requestContextOf(request).principal = principal;
  const { workspaceId, scopes } = principal;
  const to = (below: string) => (below === "/" ? home : home + below);
  const [workspace, build] = await Promise.all([deps.workspaces.get(workspaceId), frame.readModelBuild()]);
  return {
    ...asked,
    request,
    form: new URLSearchParams(),
    formId: "",
    principal,
    mail: key.isTest ? "testOnly" : isTest ? "test" : "live",
    formToken: sessions.formToken(session),
    workspaceId,
    workspaceName: workspace?.name ?? workspaceId,
    pausedSince: pausedSince(workspace),
    pauseReason: pauseReason(workspace),
    isOutbox,
    readModelBuild: build,
    may: (scope) => permits(scopes, scope),
    to,
    outside: (below) => basePath + below,
    seeOther: (below, notice) => seeOther(to(below), notice),
    commandContext: () => commandContextOf(request, deps),
    requireSession: async () => {
      if (wasLongOnItsWay(request) && !(await sessions.isAlive(session))) throw sessionEnded();
    },
  };
}

/** The API's checks: the key's rate, its client's address and its scope. Throws if one fails. */
async function admit(
  frame: Frame,
  request: Request,
  context: PageContext,
  route: DashboardRoute,
): Promise<void> {
  const { deps } = frame;
  const { principal, workspaceId } = context;
  const limits = limitsOf(await deps.workspaces.get(workspaceId), deps.limitsDefault);
  const { rateLimits } = requestContextOf(request).server;
  const { retryAfterSeconds } = rateLimits.count(principal, limits);
  requireClient(request, principal);
  if (route.scope !== null && !context.may(route.scope)) {
    const who = "log in with one, or ask the person who manages the keys";
    throw new Problem("FORBIDDEN", { detail: `this needs a key with ${scopeText(route.scope)}: ${who}` });
  }
  if (retryAfterSeconds !== null) throw tooManyRequests(retryAfterSeconds);
  if (request.method === "GET") beginRead(request, workspaceId);
}

/** Adds the form to the context, after proving that it comes from this session. Throws otherwise. */
async function provenForm(frame: Frame, context: PageContext, route: DashboardRoute): Promise<PageContext> {
  const { request, query, session, path } = context;
  if (!isFromOwnPage(request, frame.url.host)) throw fromElsewhere();
  const form = route.takesFile
    ? new URLSearchParams()
    : await readForm(request, bodyOf(request), route.formBytesMax ?? SMALL_BODY_BYTES_MAX);
  await context.requireSession();
  const token = (route.takesFile ? query : form).get(TOKEN_FIELD) ?? "";
  const shownId = frame.sessions.formOf(session, token);
  // The forms of one page share a token.
  if (shownId !== null) return { ...context, form, formId: derivedId(shownId, path) };
  throw new Problem("FORBIDDEN", {
    detail: `nothing was changed: the form is from an earlier log-in, and this browser now shows ${shownMail(context)}. If it is for that workspace, go back, reload the page and submit it again. If not, log in to its own first`,
  });
}

async function answerPage(frame: Frame, context: PageContext, route: DashboardRoute): Promise<Response> {
  const { request, session } = context;
  const asked = route.method === "POST" ? await provenForm(frame, context, route) : context;
  const answer = await route.answer(asked);
  const notice = frame.notices.take(request, session);
  const response = answer instanceof Response ? answer : pageResponse(frame, context, answer, notice);
  const left = noticeOf(response);
  const cookies = [
    // A route that has set the session's cookie itself takes precedence.
    ...(route.isBackground || response.headers.has("set-cookie") ? [] : [frame.sessions.renewed(session)]),
    left === null ? null : frame.notices.leave(session, left),
    notice === null || answer instanceof Response ? null : frame.notices.forget,
  ].filter((cookie) => cookie !== null);
  for (const cookie of cookies) response.headers.append("set-cookie", cookie);
  return response;
}

function pageResponse(frame: Frame, context: PageContext, page: Page, notice: string | null): Response {
  // A script that loads a page into a dialog already has the frame around it.
  const isPart = context.request.headers.has("hx-request");
  const html = isPart
    ? String(page.body)
    : `<!doctype html>${<Layout context={context} page={page} notice={notice} assets={frame.assets} />}`;
  return htmlResponse(html, page.status ?? 200, { vary: "HX-Request" });
}

/** A problem as a page, with the navigation if we know the user. */
function problemPage(
  frame: Frame,
  request: Request,
  problem: Problem,
  context: PageContext | null,
): Response {
  const { requestId } = requestContextOf(request);
  // A list that is not built yet is no error: the layout shows its progress.
  const isNotBuilt = problem.options.unavailable === true && context?.readModelBuild != null;
  const title = isNotBuilt ? (sectionOf(context.path)?.title ?? "Not there yet") : problemTitle(problem);
  const body = isNotBuilt ? (
    <NotBuiltYet isChange={request.method !== "GET"} />
  ) : (
    <ProblemBody problem={problem} requestId={requestId} homeAt={frame.home} />
  );
  const html =
    context === null ? (
      <BarePage title={title} assets={frame.assets} assetsAt={`${frame.home}/assets/`}>
        {body}
      </BarePage>
    ) : (
      <Layout
        context={context}
        page={{
          title,
          isWithoutRows: isNotBuilt,
          body: (
            <>
              <h1>{title}</h1>
              {body}
            </>
          ),
        }}
        notice={null}
        assets={frame.assets}
      />
    );
  return htmlResponse(`<!doctype html>${html}`, problem.status, problem.headers);
}
