import { logIn, type Visitor } from "../support/dashboard.ts";
import type { TestProcess } from "../support/service.ts";
import type { BenchOptions } from "./benches.ts";
import { onFresh } from "./benchService.ts";
import type { BenchStore } from "./benchStores.ts";
import { grown, MAIN, run, timedStart } from "./growth.ts";
import { add, percentile, type Report } from "./report.ts";

/** Requests for each page that count, and those before them that do not. */
const REQUESTS = 50;
const WARM_REQUESTS = 3;

/** Every page that people are led to, and the searches that cost most. */
async function pagesOf({ call }: TestProcess): Promise<readonly string[]> {
  const idOf = async (path: string): Promise<string> => (await call("GET", path)).json.data[0]?.id ?? "";
  const [sent, bounced] = await Promise.all(
    ["sent", "bounced"].map((status) => idOf(`/api/v1/emails?limit=1&status=${status}`)),
  );
  const [endpoint, template, sender, key] = await Promise.all(
    ["/webhooks", "/api/v1/templates", "/api/v1/senders", "/api/v1/api-keys"].map(idOf),
  );
  return [
    "/",
    "/?range=hour",
    "/?range=month",
    "/messages",
    "/messages?q=status%3Abounced",
    "/messages?q=status%3Asending",
    "/messages?q=to%3Anobody%40example.org",
    `/messages/${sent}`,
    `/messages/${bounced}`,
    `/messages/${sent}/body.html`,
    "/inbox",
    "/templates",
    `/templates/${template}`,
    "/attachments",
    "/suppressions",
    "/webhooks",
    `/webhooks/${endpoint}`,
    "/senders",
    `/senders/${sender}`,
    "/api-keys",
    `/api-keys/${key}`,
    "/workspace",
    "/audit",
    "/audit?action=no.such",
    "/audit/seals",
    "/audit/read-models",
    "/audit/copies",
    "/audit/erasures",
  ];
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
  const visitor = await logIn(service.url, service.apiKey);
  for (const path of await pagesOf(service)) {
    for (let nth = 0; nth < WARM_REQUESTS; nth += 1) await firstByteMs(service.url, visitor, path);
    const times: number[] = [];
    for (let nth = 0; nth < REQUESTS; nth += 1) times.push(await firstByteMs(service.url, visitor, path));
    times.sort((one, other) => one - other);
    const name = `dashboard: ${path.replace(/[0-9a-f-]{36}/, "…")}`;
    add(report, { name: `${name}, p50`, store, unit: "ms", value: percentile(times, 0.5) });
    add(report, { name: `${name}, p95`, store, unit: "ms", value: percentile(times, 0.95) });
  }
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
    const { service } = await timedStart(fresh);
    try {
      await measurePages(store.name, service, report);
    } finally {
      await service.kill("SIGTERM");
    }
  });
}
