import type { SuppressionQuery } from "../../../../projections/suppressions.ts";
import type { Suppression } from "../../../commands/suppression/readSuppression.ts";
import { rfc3339, utcDay } from "../../../kernel/time.ts";
import { type ListSource, whenCaughtUp } from "../../lists/caughtUpReads.ts";
import { findSuppressions } from "../../suppression/suppressionsController.ts";
import { type CsvColumns, csvResponse } from "../components/csvStream.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** Streams suppressions as a CSV file, which `suppression import` reads; 503 while the list is incomplete. */
export async function suppressionCsv(
  source: ListSource,
  context: PageContext,
  query: Omit<SuppressionQuery, "limit">,
): Promise<Response> {
  await whenCaughtUp(source.readModel("suppressions"));
  const day = utcDay(rfc3339(source.deps.clock.now()));
  return csvResponse(source.deps, context, `suppressions-${day}.csv`, {
    page: "/suppressions",
    columns: COLUMNS,
    list: (asked) => findSuppressions(source, { ...query, ...asked }),
  });
}

const COLUMNS: CsvColumns<Suppression> = {
  address: ({ address }) => address,
  reason: ({ reason }) => reason,
  note: ({ note }) => note,
  email_id: ({ emailId }) => emailId,
  created_at: ({ createdAt }) => createdAt,
};
