/** @jsxImportSource hono/jsx */
import { requestPersonErasure } from "../../../commands/erasure/erasureRequests.ts";
import { addressIn } from "../../body/commonFaults.ts";
import { existingErasure, pageOfErasures, referenceFaults } from "../../erasure/erasureHandlers.ts";
import { erasureJson } from "../../erasure/erasureResource.ts";
import { invalid } from "../../server/problem.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { ERASURES_PATH, ErasureList, ErasurePage, NewErasure } from "./erasurePages.tsx";

const ABOVE = [{ path: ERASURES_PATH, title: "Erasures" }];

type Options = Pick<DashboardOptions, "deps" | "readModel">;

/** Requests to erase a person, and their reports. */
export function erasureRoutes(options: Options): readonly DashboardRoute[] {
  const { deps } = options;
  return [
    get(ERASURES_PATH, "workspace:manage", (context) => listPage(options, context)),
    get(`${ERASURES_PATH}/new`, "workspace:manage", async (context) => newPage(context, null)),
    post(`${ERASURES_PATH}/new`, "workspace:manage", async (context) => {
      try {
        const id = await requestEntered(deps, context);
        return context.seeOther(`${ERASURES_PATH}/${id}`);
      } catch (error) {
        return newPage(context, formFaults(error));
      }
    }),
    get(`${ERASURES_PATH}/:id`, "workspace:manage", async (context): Promise<Page> => {
      const view = await existingErasure(deps.store, context.workspaceId, context.params.id ?? "");
      const erasure = erasureJson(view);
      return { title: "Erasure", above: ABOVE, body: <ErasurePage context={context} erasure={erasure} /> };
    }),
  ];
}

/** Makes the request of a form. Throws a `Problem` if it cannot. */
async function requestEntered(deps: Options["deps"], { form, commandContext }: PageContext): Promise<string> {
  const address = addressIn("/address", fieldOf(form, "address"));
  const reference = fieldOf(form, "reference") || null;
  const [fault] = referenceFaults("/reference", reference);
  if (fault !== undefined) throw invalid(fault.pointer, fault.message);
  return requestPersonErasure(deps, address, commandContext(), reference);
}

async function listPage(options: Options, context: PageContext): Promise<Page> {
  const { shown, nextCursor } = await pageOfErasures(options, context.workspaceId, pageAsked(context));
  const page = { shown: shown.map(erasureJson), nextCursor };
  return { title: "Erasures", body: <ErasureList context={context} page={page} /> };
}

function newPage(context: PageContext, faults: FormFaults | null): Page {
  return {
    title: "Erase a person",
    above: ABOVE,
    status: faults?.status,
    body: <NewErasure context={context} faults={faults} />,
  };
}
