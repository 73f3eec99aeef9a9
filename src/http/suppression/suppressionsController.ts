import { listSuppressions, type SuppressionQuery } from "../../../projections/suppressions.ts";
import { addSuppression, removeSuppression } from "../../commands/suppression/addOrRemoveSuppression.ts";
import {
  readSuppression,
  readSuppressionAt,
  type Suppression,
} from "../../commands/suppression/readSuppression.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { addressIn } from "../body/commonFaults.ts";
import {
  catchUpIfInTime,
  findPage,
  type ListSource,
  lookUpEach,
  whenCaughtUp,
} from "../lists/caughtUpReads.ts";
import { createdRange, type Page, pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { found, Problem } from "../server/problem.ts";
import { suppressionOperations } from "./suppressionOperations.ts";
import { suppressionJson } from "./suppressionResource.ts";

/** Adding, looking up, listing and removing suppressed recipients. */
export function suppressionsController(options: ControllerOptions) {
  const { deps, basePath } = options;
  const suppressions = options.readModel("suppressions");
  return operationController(deps, suppressionOperations, {
    addSuppression: async ({ body, caller, set }) => {
      const address = addressIn("/address", body.address);
      const wanted = { address, note: body.note ?? null };
      const { isNew, suppression } = await addSuppression(deps, wanted, caller.commandContext());
      await catchUpIfInTime(suppressions);
      if (!isNew) set.status = 200;
      set.headers.location = `${basePath}/api/v1/suppressions/${encodeURIComponent(address.canonical)}`;
      return suppressionJson(suppression);
    },
    listSuppressions: async ({ query, caller: { workspaceId } }) => {
      const filters = { ...omitUndefined({ reason: query.reason }), ...createdRange(query) };
      const wanted = { workspaceId, ...pageRequest(query), ...filters };
      return pageJson(await pageOfSuppressions(options, wanted), suppressionJson);
    },
    getSuppression: async ({ params, caller }) => {
      const address = addressIn("/address", params.address);
      return suppressionJson(found(await readSuppression(deps, caller.workspaceId, address)));
    },
    removeSuppression: async ({ params, caller }) => {
      const address = addressIn("/address", params.address);
      const outcome = await removeSuppression(deps, address, caller.commandContext());
      if (outcome === "notSuppressed") throw new Problem("NOT_FOUND");
      await catchUpIfInTime(suppressions);
    },
  });
}

/** A page of suppressions as they are now; else 503. */
export async function pageOfSuppressions(
  source: ListSource,
  query: SuppressionQuery,
): Promise<Page<Suppression>> {
  await whenCaughtUp(source.readModel("suppressions"));
  return findSuppressions(source, query);
}

/** A page of suppressions as the read model has them. */
export async function findSuppressions(
  { deps, readModel }: ListSource,
  query: SuppressionQuery,
): Promise<Page<Suppression>> {
  const suppressions = readModel("suppressions");
  const rows = await findPage(suppressions, query, listSuppressions);
  // Addresses are only in the recipients' own streams, so erasing one stream is enough.
  return lookUpEach(suppressions, rows, (row) => readSuppressionAt(deps.store, row));
}
