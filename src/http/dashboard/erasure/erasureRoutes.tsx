/** @jsxImportSource hono/jsx */

import { listErasures } from "../../../../projections/erasures.ts";
import { readErasure, requestPersonErasure } from "../../../commands/erasure/erasureRequests.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { parseAddress } from "../../../kernel/text/emailAddress.ts";
import { erasureJson } from "../../erasure/erasureResource.ts";
import { scheduledRead } from "../../lists/caughtUpReads.ts";
import { pageOf } from "../../lists/cursorPaging.ts";
import { invalid, Problem } from "../../server/problem.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, post, type Visit } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { afterCursor } from "../frame/listCursor.ts";
import { seeOther } from "../frame/notices.ts";
import { catchUp } from "../message/findMessages.ts";
import { ERASURES_PATH, type ErasureJson, ErasureList, ErasurePage, NewErasure } from "./erasurePages.tsx";

const PAGE_ITEMS = 50;
const ABOVE = [{ path: ERASURES_PATH, title: "Erasures" }];

type Options = Pick<DashboardOptions, "deps" | "readModel">;

/** Asking that a person be erased, and reading what became of it. */
export function erasureRoutes(options: Options): readonly DashboardRoute[] {
  const { deps } = options;
  return [
    get(ERASURES_PATH, "workspace:manage", (visit) => listPage(options, visit)),
    get(`${ERASURES_PATH}/new`, "workspace:manage", async (visit) => newPage(visit, "", null)),
    post(ERASURES_PATH, "workspace:manage", async (visit) => {
      const text = fieldOf(visit.form, "address").trim();
      try {
        const address = parseAddress(text);
        if ("invalid" in address) throw invalid("/address", address.invalid);
        const id = await requestPersonErasure(deps, address, visit.commandContext());
        return seeOther(visit.to(`${ERASURES_PATH}/${id}`));
      } catch (error) {
        return newPage(visit, text, formFaults(error));
      }
    }),
    get(`${ERASURES_PATH}/:id`, "workspace:manage", async (visit): Promise<Page> => {
      const erasure = await erasureOf(options, visit.workspaceId, visit.params.id ?? "");
      return { title: "Erasure", above: ABOVE, body: <ErasurePage visit={visit} erasure={erasure} /> };
    }),
  ];
}

/** A request of the workspace. Throws where it has none of the id. */
async function erasureOf({ deps }: Options, workspaceId: string, id: string): Promise<ErasureJson> {
  const view = isUuid(id) ? await readErasure(deps.store, id.toLowerCase()) : null;
  if (view?.erasure.workspaceId !== workspaceId) throw new Problem("NOT_FOUND");
  return erasureJson(view);
}

async function listPage(options: Options, visit: Visit): Promise<Page> {
  const { workspaceId } = visit;
  const erasures = options.readModel("erasures");
  if (!visit.query.has("cursor")) await catchUp(erasures);
  const request = { limit: PAGE_ITEMS, ...afterCursor(visit) };
  const { shown, nextCursor } = await scheduledRead(erasures, (db) =>
    pageOf(request, (page) => listErasures(db, { workspaceId, ...page })),
  );
  return {
    title: "Erasures",
    body: (
      <ErasureList
        visit={visit}
        erasures={await erasures.scheduler.mapEach(shown, ({ id }) => erasureOf(options, workspaceId, id))}
        nextCursor={nextCursor}
      />
    ),
  };
}

function newPage(visit: Visit, address: string, faults: FormFaults | null): Page {
  return {
    title: "Erase a person",
    above: ABOVE,
    ...(faults === null ? {} : { status: faults.status }),
    body: <NewErasure visit={visit} address={address} faults={faults} />,
  };
}
