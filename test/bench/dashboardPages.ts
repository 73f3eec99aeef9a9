import { allDashboardRoutes } from "../../src/http/dashboard/frame/allDashboardRoutes.ts";
import type { DashboardOptions } from "../../src/http/dashboard/frame/dashboardOptions.ts";
import { routeTable } from "../../src/http/dashboard/frame/dashboardRoute.ts";
import type { LiveStreams } from "../../src/http/dashboard/live/liveStreams.ts";
import { logIn, type Visitor, visitorOf } from "../support/dashboard.ts";
import type { TestProcess } from "../support/service.ts";
import { stub } from "../support/stub.ts";
import type { BenchOptions } from "./benches.ts";
import { onFresh } from "./benchService.ts";
import type { BenchStore } from "./benchStores.ts";
import { type DashboardContents, fillDashboard } from "./dashboardContents.ts";
import { grown, MAIN, run, timedStart } from "./growth.ts";
import { add, percentile, type Report } from "./report.ts";

/** Requests for each page that count, and those before them that do not. */
const REQUESTS = 50;
const WARM_REQUESTS = 3;
/** Of which the overview tells. Nothing is handed to them. */
const TWO_RELAYS = "smtp://127.0.0.1:2525 smtp://127.0.0.1:2526";

/** What is no page, or asks the DNS and takes as long as that: nobody waits for their first byte at this place. */
const NOT_MEASURED = /^\/live|\.(csv|eml)$|\/files?(\/:index)?$|\/records$/;

/** Every page, and the searches that cost most. */
function pagesOf(contents: DashboardContents): readonly string[] {
  return [
    "/",
    "/?range=hour",
    "/?range=month",
    "/messages",
    "/messages?q=status%3Abounced",
    "/messages?q=status%3Asending",
    "/messages?q=status%3Ascheduled",
    "/messages?q=status%3Acomplained",
    "/messages?q=to%3Anobody%40example.org",
    "/messages/rows",
    "/messages/send-again?q=status%3Abounced",
    ...[contents.sent, contents.bounced, contents.scheduled].map((id) => `/messages/${id}`),
    ...["timeline", "body.html", "send-again", "cancel", "erase"].map(
      (part) => `/messages/${contents.sent}/${part}`,
    ),
    `/messages/${contents.scheduled}/reschedule`,
    "/outbox",
    "/templates",
    "/templates/new",
    `/templates/${contents.template}`,
    ...[
      "archive",
      "delete",
      "draft",
      `versions/${contents.versions[0]}`,
      `versions/${contents.versions[0]}/test-send`,
    ].map((part) => `/templates/${contents.template}/${part}`),
    `/templates/${contents.template}/compare?from=${contents.versions[0]}&to=${contents.versions[1]}`,
    "/attachments",
    `/attachments/${contents.attachment}`,
    `/attachments/${contents.attachment}/delete`,
    "/suppressions",
    `/suppressions?address=${encodeURIComponent(contents.suppressed)}`,
    `/suppressions/${encodeURIComponent(contents.suppressed)}/remove`,
    "/webhooks",
    "/webhooks/new",
    `/webhooks/${contents.endpoint}`,
    ...["edit", "disable", "rotate", "recover", "delete", `deliveries/${contents.delivery}`].map(
      (part) => `/webhooks/${contents.endpoint}/${part}`,
    ),
    "/senders",
    `/senders/${contents.sender}`,
    `/senders/${contents.sender}/disable`,
    "/api-keys",
    "/api-keys/new",
    `/api-keys/${contents.apiKey}`,
    `/api-keys/${contents.apiKey}/rotate`,
    `/api-keys/${contents.apiKey}/revoke`,
    "/workspace",
    "/workspace/pause",
    "/audit",
    "/audit?action=email.rescheduled",
    "/audit/seals",
    "/audit/read-models",
    "/audit/copies",
    "/audit/erasures",
    "/audit/erasures/new",
    `/audit/erasures/${contents.erasure}`,
  ];
}

/** Pages of mail, for a session that shows test mail in place of live mail. */
const TEST_MAIL_PAGES = ["/", "/messages", "/messages?q=status%3Abounced", "/outbox"];

/** A page that came later and is not measured is a mistake here. */
function requireEveryPage(pages: readonly string[]): void {
  const table = routeTable(allDashboardRoutes(stub() as DashboardOptions, stub() as LiveStreams));
  const measured = new Set(
    pages.map((page) => {
      const found = table.find("GET", page.replace(/\?.*/, ""));
      return "route" in found ? found.route.path : page;
    }),
  );
  const missing = allDashboardRoutes(stub() as DashboardOptions, stub() as LiveStreams).filter(
    ({ method, path }) => method === "GET" && !NOT_MEASURED.test(path) && !measured.has(path),
  );
  if (missing.length > 0) throw new Error(`not measured: ${missing.map(({ path }) => path).join(", ")}`);
}

/** The time until an answer begins, in ms. */
async function firstByteMs(url: string, { cookie }: Visitor, path: string): Promise<number> {
  const startedAt = performance.now();
  const address = `${url}/dashboard${path === "/" ? "" : path}`;
  const answer = await fetch(address, { headers: { cookie }, redirect: "manual" });
  const ms = performance.now() - startedAt;
  const text = await answer.text();
  if (![200, 404].includes(answer.status))
    throw new Error(`${path} was answered by ${answer.status}: ${text}`);
  return ms;
}

/** The times of {@link REQUESTS} requests for each page, one after another. */
export async function measurePages(store: string, service: TestProcess, report: Report): Promise<void> {
  const pages = pagesOf(await fillDashboard(service));
  requireEveryPage(pages);
  const visitor = await logIn(service.url, service.apiKey);
  const measure = async (pageVisitor: Visitor, path: string, named: string) => {
    for (let nth = 0; nth < WARM_REQUESTS; nth += 1) await firstByteMs(service.url, pageVisitor, path);
    const times: number[] = [];
    for (let nth = 0; nth < REQUESTS; nth += 1) times.push(await firstByteMs(service.url, pageVisitor, path));
    times.sort((one, other) => one - other);
    const name = `dashboard: ${named}${path.replace(/[0-9a-f]{64}|[0-9a-f-]{36}/g, "…")}`;
    add(report, { name: `${name}, p50`, store, unit: "ms", value: percentile(times, 0.5) });
    add(report, { name: `${name}, p95`, store, unit: "ms", value: percentile(times, 0.95) });
  };
  for (const path of pages) await measure(visitor, path, "");
  const tester = await showingTestMail(service.url, visitor);
  for (const path of TEST_MAIL_PAGES) await measure(tester, path, "test mail, ");
}

async function showingTestMail(url: string, visitor: Visitor): Promise<Visitor> {
  const { headers } = await visitor.post("/mail", { show: "test" });
  return visitorOf(url, headers.getSetCookie()[0]?.split(";")[0] ?? "");
}

/** How long pages take to answer on a log of `messages` messages. */
export async function dashboard(
  store: BenchStore,
  report: Report,
  { messages }: BenchOptions,
): Promise<void> {
  await onFresh(store, async (fresh) => {
    await grown(store, fresh, messages, report);
    await run([MAIN, "audit", "seal"], fresh.env);
    await run([MAIN, "projection", "rebuild"], fresh.env);
    const { service } = await timedStart(fresh, { SMTP_URL: TWO_RELAYS });
    try {
      await measurePages(store.name, service, report);
    } finally {
      await service.kill("SIGTERM");
    }
  });
}
