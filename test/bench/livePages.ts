import { logIn, type Visitor } from "../support/dashboard.ts";
import type { TestProcess } from "../support/service.ts";
import type { Bench } from "./benches.ts";
import { onService } from "./benchService.ts";
import { add, addRatio, median } from "./report.ts";
import { type Pace, serviceLoad } from "./sends.ts";

/** Pages of the list of messages that are open at once, each in a session of its own. */
const PAGES = [1, 10];
const WARM_REQUESTS = 3_000;
const REQUESTS = { sqlite: 25_000, eventstoredb: 6_000 };

/** A page of the list of messages that is open. */
interface OpenPage {
  /** Settles when the page is closed. */
  readonly followed: Promise<void>;
}

/** Opens the list of messages as a browser does: the page, then a stream, and the rows anew when it says that something changed. */
async function openPage(
  { url }: TestProcess,
  { get, cookie }: Visitor,
  signal: AbortSignal,
): Promise<OpenPage> {
  const { html } = await get("/messages");
  const addressIn = (name: string) =>
    (new RegExp(`${name}="/dashboard(/[^"]+)"`).exec(html)?.[1] ?? "").replaceAll("&amp;", "&");
  const rows = addressIn("hx-get");
  const stream = await fetch(`${url}/dashboard${addressIn("hx-sse:connect")}`, {
    headers: { cookie },
    signal,
  });
  const follow = async () => {
    const decoder = new TextDecoder();
    for await (const part of stream.body ?? [])
      if (decoder.decode(part as Uint8Array).includes("event: changed"))
        await get(rows, { "hx-request": "true" });
  };
  const followed = follow().catch((error) => {
    if (!signal.aborted) throw error;
  });
  return { followed };
}

/** Sends while so many pages, open already, follow them. */
async function whileOpen(service: TestProcess, pages: number, send: () => Promise<Pace>): Promise<Pace> {
  const stop = new AbortController();
  const visitors = await Promise.all(Array.from({ length: pages }, () => logIn(service.url, service.apiKey)));
  const open = await Promise.all(visitors.map((visitor) => openPage(service, visitor, stop.signal)));
  const pace = await send();
  stop.abort();
  await Promise.all(open.map(({ followed }) => followed));
  return pace;
}

/** What it costs sends that somebody looks at them, in turns with sends that nobody looks at. */
export const live: Bench = async (store, report, { turns }) => {
  await onService(store, { DELIVERY: "off" }, async (service) => {
    const load = serviceLoad(service);
    const requests = REQUESTS[store.name];
    await load("warm-up", WARM_REQUESTS);
    const paces = new Map<number, Pace[]>([0, ...PAGES].map((pages) => [pages, []]));
    for (let turn = 0; turn < turns; turn += 1)
      for (const [pages, taken] of paces)
        taken.push(await whileOpen(service, pages, () => load(`${pages}-pages-${turn}`, requests)));
    const withoutPages = paces.get(0) ?? [];
    for (const [pages, taken] of paces) {
      const name = `send, ${pages} pages live`;
      const figures = { store: store.name, value: median(taken.map(({ cpuUs }) => cpuUs)) };
      add(report, { name, unit: "µs of processor time/send", ...figures });
      if (pages === 0) continue;
      const ratios = (of: (pace: Pace) => number) =>
        median(taken.map((pace, turn) => of(pace) / of(withoutPages[turn] ?? pace)));
      addRatio(
        report,
        `send_cpu_with_${pages}_live_vs_none_${store.name}`,
        ratios(({ cpuUs }) => cpuUs),
      );
      addRatio(
        report,
        `send_with_${pages}_live_vs_none_${store.name}`,
        ratios(({ perSecond }) => perSecond),
      );
    }
  });
};
