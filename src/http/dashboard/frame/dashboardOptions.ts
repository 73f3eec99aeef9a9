import type { Dependencies } from "../../../commands/dependencies.ts";
import type { Checks } from "../../health/healthRoutes.ts";
import type { ReadModel } from "../../lists/caughtUpReads.ts";

/** What the dashboard works with. */
export interface DashboardOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix". */
  readonly basePath: string;
  /** Where browsers find the service: BASE_URL. */
  readonly url: URL;
  readonly version: string;
  readonly readiness: () => Promise<Checks>;
  /** Whether the log goes on elsewhere: then nothing of it is shown or changed here. */
  readonly isFrozen: () => Promise<boolean>;
  /** A read model, by its name. */
  readonly readModel: (name: string) => ReadModel;
}
