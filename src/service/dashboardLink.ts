import { LOG_IN_LINK_MS, newLogInToken } from "../commands/apiKey/logInLink.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import {
  firstWorkspaces,
  type NamedWorkspace,
  workspacesCalled,
} from "../commands/workspace/readWorkspace.ts";
import { type EpochMs, rfc3339 } from "../kernel/time.ts";
import type { Config } from "./config/config.ts";

/** A service's answer to a request for a link that logs in to the dashboard. */
export type DashboardLinkAnswer =
  | {
      readonly kind: "link";
      readonly url: string;
      readonly workspaceId: string;
      readonly workspaceName: string;
      readonly expiresAt: string;
    }
  /** There are several workspaces, and the request named none, or several by one name. */
  | { readonly kind: "several"; readonly workspaces: readonly NamedWorkspace[] }
  | { readonly kind: "unknownWorkspace" }
  | { readonly kind: "noWorkspace" };

/** Makes a link that logs in once, to the workspace with this id or name, or to the only one. */
export async function dashboardLink(
  deps: Dependencies,
  config: Pick<Config, "baseUrl">,
  workspace: string | null,
): Promise<DashboardLinkAnswer> {
  const { store } = deps;
  const known = workspace === null ? await firstWorkspaces(store) : await workspacesCalled(store, workspace);
  const [first, ...others] = known;
  if (first === undefined) return { kind: workspace === null ? "noWorkspace" : "unknownWorkspace" };
  if (others.length > 0) return { kind: "several", workspaces: known };
  const now: EpochMs = deps.clock.now();
  const token = newLogInToken(deps.keys, first.id, now);
  return {
    kind: "link",
    url: `${dashboardUrl(config)}/log-in#${token}`,
    workspaceId: first.id,
    workspaceName: first.name,
    expiresAt: rfc3339(now + LOG_IN_LINK_MS),
  };
}

/** The dashboard's URL. For a service that listens on all addresses it uses localhost. */
export function dashboardUrl({ baseUrl }: Pick<Config, "baseUrl">): string {
  const url = new URL(baseUrl);
  if (url.hostname === "0.0.0.0" || url.hostname === "[::]") url.hostname = "localhost";
  return `${url.href.replace(/\/$/, "")}/dashboard`;
}
