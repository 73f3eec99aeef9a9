/** @jsxImportSource hono/jsx */
import { readLastSeal } from "../../../commands/audit/auditSealer.ts";
import { Problem } from "../../server/problem.ts";
import { SealPage } from "../audit/sealPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { maintenanceStream } from "./maintenanceProgress.tsx";
import type { EndedTask, MaintenanceKind, MaintenanceTask, ReadModelState } from "./maintenanceTasks.ts";
import { ReadModelPage } from "./readModelPage.tsx";
import { isOperator, requireOperator } from "./requireOperator.ts";

type Options = Pick<DashboardOptions, "deps" | "maintenance" | "readModelStates">;

const SCOPE = "workspace:manage";
const SEALS = "/audit/seals";
const READ_MODELS = "/audit/read-models";

/** Seals and read models: their status, and the long tasks that verify and rebuild them. */
export function maintenanceRoutes(options: Options): readonly DashboardRoute[] {
  const start = (context: PageContext, task: MaintenanceTask, path: string) => {
    requireOperator(context);
    const hasBegun = options.maintenance.start(task);
    return context.seeOther(path, hasBegun ? undefined : "Something else is running: wait until it ends.");
  };
  const startOnReadModels = async (context: PageContext, kind: MaintenanceKind) =>
    start(context, { kind, readModels: await namedReadModels(options, context) }, READ_MODELS);
  return [
    get(SEALS, SCOPE, (context) => sealPage(options, context)),
    post(`${SEALS}/verify`, SCOPE, async (context) =>
      start(context, { kind: "verifyLog", readModels: [] }, SEALS),
    ),
    get(READ_MODELS, SCOPE, (context) => readModelPage(options, context)),
    post(`${READ_MODELS}/verify`, SCOPE, (context) => startOnReadModels(context, "verifyReadModels")),
    post(`${READ_MODELS}/rebuild`, SCOPE, (context) => startOnReadModels(context, "rebuildReadModels")),
    post("/audit/give-up", SCOPE, async (context) => {
      requireOperator(context);
      await options.maintenance.cancel();
      const path = context.form.get("path") === SEALS ? SEALS : READ_MODELS;
      return context.seeOther(path, "It was canceled: nothing has changed.");
    }),
  ];
}

async function sealPage({ deps, maintenance }: Options, context: PageContext): Promise<Page> {
  return {
    title: "Seals",
    body: (
      <SealPage
        context={context}
        now={deps.clock.now()}
        seal={await readLastSeal(deps.store)}
        running={maintenance.running()}
        last={maintenance.last("verifyLog")}
        stream={maintenanceStream(context, maintenance)}
      />
    ),
  };
}

async function readModelPage(
  { deps, maintenance, readModelStates }: Options,
  context: PageContext,
): Promise<Page> {
  const ended = (["verifyReadModels", "rebuildReadModels"] as const)
    .map((kind) => maintenance.last(kind))
    .filter((task): task is EndedTask => task !== null)
    .sort((one, other) => other.endedAt - one.endedAt);
  return {
    title: "Read models",
    body: (
      <ReadModelPage
        context={context}
        now={deps.clock.now()}
        states={(await readModelStates()).map((state) =>
          isOperator(context) ? state : withoutReasons(state),
        )}
        running={maintenance.running()}
        ended={ended}
        stream={maintenanceStream(context, maintenance)}
      />
    ),
  };
}

/** Hides failure reasons, which may name messages of any workspace and files of the machine. */
function withoutReasons({ failure, verified, ...state }: ReadModelState): ReadModelState {
  const hidden = (reason: string | null) => reason && "the service's log says why";
  return {
    ...state,
    failure: hidden(failure),
    verified: verified && { ...verified, failure: hidden(verified.failure) },
  };
}

/** The read model that a form names, or all of them. */
async function namedReadModels(
  { readModelStates }: Options,
  { form }: PageContext,
): Promise<readonly string[]> {
  const names = (await readModelStates()).map(({ name }) => name);
  const name = form.get("name");
  if (name === null) return names;
  if (!names.includes(name)) throw new Problem("NOT_FOUND", { detail: "there is no such read model" });
  return [name];
}
