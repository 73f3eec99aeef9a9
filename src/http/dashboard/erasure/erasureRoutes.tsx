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
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { afterCursor } from "../frame/listCursor.ts";
import { seeOther } from "../frame/notices.ts";
import { catchUp } from "../message/loadMessageRows.ts";
import { ERASURES_PATH, type ErasureJson, ErasureList, ErasurePage, NewErasure } from "./erasurePages.tsx";

const PAGE_ITEMS = 50;
const ABOVE = [{ path: ERASURES_PATH, title: "Erasures" }];

type Options = Pick<DashboardOptions, "deps" | "readModel">;

/** Asking that a person be erased, and reading what became of it. */
export function erasureRoutes(options: Options): readonly DashboardRoute[] {
  const { deps } = options;
  return [
    get(ERASURES_PATH, "workspace:manage", (context) => listPage(options, context)),
    get(`${ERASURES_PATH}/new`, "workspace:manage", async (context) => newPage(context, "", null)),
    post(ERASURES_PATH, "workspace:manage", async (context) => {
      const text = fieldOf(context.form, "address").trim();
      try {
        const address = parseAddress(text);
        if ("invalid" in address) throw invalid("/address", address.invalid);
        const id = await requestPersonErasure(deps, address, context.commandContext());
        return seeOther(context.to(`${ERASURES_PATH}/${id}`));
      } catch (error) {
        return newPage(context, text, formFaults(error));
      }
    }),
    get(`${ERASURES_PATH}/:id`, "workspace:manage", async (context): Promise<Page> => {
      const erasure = await erasureOf(options, context.workspaceId, context.params.id ?? "");
      return { title: "Erasure", above: ABOVE, body: <ErasurePage context={context} erasure={erasure} /> };
    }),
  ];
}

/** A request of the workspace. Throws where it has none of the id. */
async function erasureOf({ deps }: Options, workspaceId: string, id: string): Promise<ErasureJson> {
  const view = isUuid(id) ? await readErasure(deps.store, id.toLowerCase()) : null;
  if (view?.erasure.workspaceId !== workspaceId) throw new Problem("NOT_FOUND");
  return erasureJson(view);
}

async function listPage(options: Options, context: PageContext): Promise<Page> {
  const { workspaceId } = context;
  const erasures = options.readModel("erasures");
  if (!context.query.has("cursor")) await catchUp(erasures);
  const request = { limit: PAGE_ITEMS, ...afterCursor(context) };
  const { shown, nextCursor } = await scheduledRead(erasures, (db) =>
    pageOf(request, (page) => listErasures(db, { workspaceId, ...page })),
  );
  return {
    title: "Erasures",
    body: (
      <ErasureList
        context={context}
        erasures={await erasures.scheduler.mapEach(shown, ({ id }) => erasureOf(options, workspaceId, id))}
        nextCursor={nextCursor}
      />
    ),
  };
}

function newPage(context: PageContext, address: string, faults: FormFaults | null): Page {
  return {
    title: "Erase a person",
    above: ABOVE,
    ...(faults === null ? {} : { status: faults.status }),
    body: <NewErasure context={context} address={address} faults={faults} />,
  };
}
