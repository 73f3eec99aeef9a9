import { Elysia } from "elysia";
import { listErasures } from "../../../projections/erasures.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import {
  type ErasureView,
  readErasure,
  requestPersonErasure,
} from "../../commands/erasure/erasureRequests.ts";
import type { Erasure } from "../../domain/erasure/state.ts";
import { isUuid } from "../../kernel/ids.ts";
import { parseAddress } from "../../kernel/text/emailAddress.ts";
import { NoQuery } from "../body/commonSchemas.ts";
import { caughtUpRows, type ReadModel } from "../lists/caughtUpReads.ts";
import { decodeCursor, pageItems, pageOf } from "../lists/cursorPaging.ts";
import { authorize, authorizeThenRead } from "../server/authorization.ts";
import { invalid, Problem } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { ListErasuresQuery, NOT_REACHED, RequestErasureBody } from "./erasureSchemas.ts";

interface ErasuresOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
  /** The read model `erasures`. */
  readonly erasures: ReadModel;
}

/** Asking that a person be erased, and what became of it. */
export function erasuresController({ deps, basePath, erasures }: ErasuresOptions) {
  const existing = async (request: Request, id: string): Promise<ErasureView> => {
    const view = isUuid(id) ? await readErasure(deps.store, id.toLowerCase()) : null;
    if (view?.erasure.workspaceId !== principalOf(request).workspaceId) throw new Problem("NOT_FOUND");
    return view;
  };
  return new Elysia({ normalize: false })
    .post(
      routes.requestErasure.path,
      async ({ body, request, set }) => {
        const address = parseAddress(body.address);
        if ("invalid" in address) throw invalid("/address", address.invalid);
        const id = await requestPersonErasure(deps, address, commandContextOf(request, deps));
        set.status = 202;
        set.headers.location = `${basePath}/api/v1/erasures/${id}`;
        return erasureJson(await existing(request, id));
      },
      { parse: authorizeThenRead(deps, routes.requestErasure), body: RequestErasureBody, query: NoQuery },
    )
    .get(
      routes.listErasures.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const limit = pageItems(query.limit);
        const rows = listErasures(await caughtUpRows(erasures), {
          workspaceId,
          limit: limit + 1,
          ...(query.cursor === undefined ? {} : { after: decodeCursor(query.cursor) }),
        });
        const { shown, nextCursor } = pageOf(rows, limit);
        const found = await erasures.scheduler.mapEach(shown, ({ id }) => existing(request, id));
        return { data: found.map(erasureJson), next_cursor: nextCursor };
      },
      { transform: authorize(deps, routes.listErasures), query: ListErasuresQuery },
    )
    .get(
      routes.getErasure.path,
      async ({ params, request }) => erasureJson(await existing(request, params.id)),
      { transform: authorize(deps, routes.getErasure), query: NoQuery },
    );
}

function erasureJson({ id, erasure, requestedAt, completedAt }: ErasureView) {
  return {
    id,
    object: "erasure",
    status: erasure.status,
    created_at: requestedAt,
    completed_at: completedAt,
    report: reportJson(erasure),
  };
}

function reportJson({ counts, remains, copies }: Erasure) {
  if (counts === null) return null;
  return {
    messages_erased: counts.messagesErased,
    messages_canceled: counts.messagesCanceled,
    messages_erased_before: counts.messagesErasedBefore,
    messages_with_files: counts.messagesWithFiles,
    outbox_messages: counts.outboxMessages,
    uploads_erased: counts.uploadsErased,
    uploads_kept: counts.uploadsKept,
    suppressions_erased: counts.suppressionsErased,
    remains,
    // Where they are is the operator's business: the command line tells.
    copies: copies?.map(({ kind, at }) => ({ kind, taken_at: at })) ?? null,
    not_reached: NOT_REACHED,
  };
}
