/** @jsxImportSource hono/jsx */
import { readLastSeal } from "../../../commands/audit/auditSealer.ts";
import { Problem } from "../../server/problem.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, post, type Visit } from "../frame/dashboardRoute.ts";
import { seeOther } from "../frame/notices.ts";
import type { EndedTask, MaintenanceKind, MaintenanceTask, ReadModelState } from "./maintenance.ts";
import { maintenanceStream } from "./maintenancePart.tsx";
import { isOperator, requireOperator } from "./operator.ts";
import { ReadModelPage } from "./readModelPage.tsx";
import { SealPage, type ShownSeal } from "./sealPage.tsx";

type Options = Pick<DashboardOptions, "deps" | "maintenance" | "readModelStates">;

const SCOPE = "workspace:manage";
const SEALS = "/audit/seals";
const READ_MODELS = "/audit/read-models";

/** Seals and read models: their status, and the long work of verifying and rebuilding them. */
export function maintenanceRoutes(options: Options): readonly DashboardRoute[] {
  const start = (visit: Visit, task: MaintenanceTask, path: string) => {
    requireOperator(visit);
    const hasBegun = options.maintenance.start(task);
    return seeOther(visit.to(path), hasBegun ? undefined : "Something else is under way: wait for its end.");
  };
  const startOnReadModels = async (visit: Visit, kind: MaintenanceKind) =>
    start(visit, { kind, readModels: await namedReadModels(options, visit) }, READ_MODELS);
  return [
    get(SEALS, SCOPE, (visit) => sealPage(options, visit)),
    post(`${SEALS}/verify`, SCOPE, async (visit) =>
      start(visit, { kind: "verifyLog", readModels: [] }, SEALS),
    ),
    get(READ_MODELS, SCOPE, (visit) => readModelPage(options, visit)),
    post(`${READ_MODELS}/verify`, SCOPE, (visit) => startOnReadModels(visit, "verifyReadModels")),
    post(`${READ_MODELS}/rebuild`, SCOPE, (visit) => startOnReadModels(visit, "rebuildReadModels")),
    post("/audit/give-up", SCOPE, async (visit) => {
      requireOperator(visit);
      await options.maintenance.cancel();
      const path = visit.form.get("path") === SEALS ? SEALS : READ_MODELS;
      return seeOther(visit.to(path), "It was given up: nothing has changed.");
    }),
  ];
}

async function sealPage({ deps, maintenance }: Options, visit: Visit): Promise<Page> {
  const last = await readLastSeal(deps.store);
  const seal: ShownSeal | null = last && {
    number: last.end.revision ?? 0,
    at: last.seal.at,
    isSigned: last.seal.signature !== undefined,
    covered: last.end.covered,
    digest: last.end.leaf ?? "",
  };
  return {
    title: "Seals",
    body: (
      <SealPage
        visit={visit}
        now={deps.clock.now()}
        seal={seal}
        running={maintenance.running()}
        last={maintenance.last("verifyLog")}
        stream={maintenanceStream(visit, maintenance)}
      />
    ),
  };
}

async function readModelPage({ deps, maintenance, readModelStates }: Options, visit: Visit): Promise<Page> {
  const ended = (["verifyReadModels", "rebuildReadModels"] as const)
    .map((kind) => maintenance.last(kind))
    .filter((task): task is EndedTask => task !== null)
    .sort((one, other) => other.endedAt - one.endedAt);
  return {
    title: "Read models",
    body: (
      <ReadModelPage
        visit={visit}
        now={deps.clock.now()}
        states={(await readModelStates()).map((state) => (isOperator(visit) ? state : withoutReasons(state)))}
        running={maintenance.running()}
        ended={ended}
        stream={maintenanceStream(visit, maintenance)}
      />
    ),
  };
}

/** Why a read model stopped may name messages of any workspace, and files of the machine. */
function withoutReasons({ failure, verified, ...state }: ReadModelState): ReadModelState {
  const hidden = (reason: string | null) => reason && "the service's log says why";
  return {
    ...state,
    failure: hidden(failure),
    verified: verified && { ...verified, failure: hidden(verified.failure) },
  };
}

/** The read model that a form names, or all of them. */
async function namedReadModels({ readModelStates }: Options, { form }: Visit): Promise<readonly string[]> {
  const names = (await readModelStates()).map(({ name }) => name);
  const name = form.get("name");
  if (name === null) return names;
  if (!names.includes(name)) throw new Problem("NOT_FOUND", { detail: "there is no such read model" });
  return [name];
}
