import { newestEmail } from "../../../../projections/emails/queries.ts";
import { totalsOfHour } from "../../../../projections/emails/usage/queries.ts";
import { isOwnEmail, readEmailState } from "../../../commands/email/readEmail.ts";
import { emailStream } from "../../../domain/email/events.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { mailOwnerId } from "../../../kernel/liveOrTestOwner.ts";
import { rfc3339, SECOND_MS } from "../../../kernel/time.ts";
import { scheduledRead } from "../../lists/caughtUpReads.ts";
import { Problem, unavailable } from "../../server/problem.ts";
import { requestContextOf } from "../../server/requestContext.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, getInBackground, type PageContext } from "../frame/dashboardRoute.ts";
import type { LiveStreams, Watch } from "./liveStreams.ts";

type LiveOptions = Pick<DashboardOptions, "deps" | "readModel">;
type Watched = Pick<Watch, "subject" | "version" | "restMs">;

/**
 * The shortest time between two announced changes in a busy workspace, in ms: each makes pages read their rows again,
 * competing with sends.
 */
const MESSAGES_REST_MS = 5 * SECOND_MS;

/**
 * Streams that say when a page has changed: that of one message, of all the workspace's messages, or of long work on
 * the installation.
 */
export function liveRoutes(options: DashboardOptions, streams: LiveStreams): readonly DashboardRoute[] {
  const open = (context: PageContext, watched: Watched) => {
    const { session, workspaceId, request, query } = context;
    // A reconnecting stream says where it was; a new one, what its page shows.
    const shown = request.headers.get("last-event-id") ?? query.get("shown") ?? "";
    const response = streams.open({ session, workspaceId, ...watched, shown });
    if (response === null) throw unavailable("the service stops");
    requestContextOf(request).isStreamed = true;
    return response;
  };
  return [
    getInBackground("/live", "email:status", async (context) => {
      const ownerId = mailOwnerId(context.principal);
      const version = () => versionOfMessages(options, ownerId);
      return open(context, { subject: ownerId, version, restMs: MESSAGES_REST_MS });
    }),
    getInBackground("/live/messages/:id", "email:status", async (context) => {
      const { id = "" } = context.params;
      const { store } = options.deps;
      const state = isUuid(id) ? await readEmailState(store, id.toLowerCase()) : null;
      if (state === null || !isOwnEmail(state, context.principal)) throw new Problem("NOT_FOUND");
      const stream = emailStream(id.toLowerCase());
      const version = async () => String(await store.lastRevision(stream));
      return open(context, { subject: stream, version, restMs: 0 });
    }),
    getInBackground("/live/maintenance", "workspace:manage", async (context) => {
      const version = async () => options.maintenance.version();
      return open(context, { subject: "maintenance", version, restMs: 0 });
    }),
  ];
}

/** The stream's address for a page that shows the workspace's current messages. */
export async function messagesStream(options: LiveOptions, context: PageContext): Promise<string> {
  return `${context.to("/live")}?shown=${await versionOfMessages(options, mailOwnerId(context.principal))}`;
}

/** The stream's address for a page that shows a message up to a revision. */
export function messageStream(context: PageContext, id: string, revision: number): string {
  return `${context.to(`/live/messages/${id}`)}?shown=${revision}`;
}

/** Changes whenever a message arrives or ends. Reads two rows. */
async function versionOfMessages({ deps, readModel }: LiveOptions, ownerId: string): Promise<string> {
  const hour = rfc3339(deps.clock.now());
  return scheduledRead(readModel("emails"), (db) => {
    const newest = newestEmail(db, ownerId);
    const counts = totalsOfHour(db, ownerId, hour);
    return Bun.hash(JSON.stringify([newest, hour.slice(0, 13), counts])).toString(36);
  });
}
