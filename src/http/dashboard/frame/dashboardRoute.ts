import type { Child } from "hono/jsx";
import type { Principal } from "../../../commands/apiKey/authenticate.ts";
import type { Scope } from "../../../domain/apiKey/scopes.ts";
import type { WorkspaceCommandContext } from "../../../kernel/event/commandContext.ts";
import { SMALL_BODY_BYTES_MAX } from "../../body/bodyLimits.ts";
import type { AssetName } from "./assets.ts";
import type { ReadModelBuild } from "./dashboardOptions.ts";
import type { Session } from "./sessions.ts";

/** Where the dashboard is, below the path of BASE_URL. */
export const DASHBOARD_PATH = "/dashboard";

/** One request of somebody who is logged in, as a page sees it. */
export interface PageContext {
  readonly request: Request;
  /** The path that was asked for, below {@link DASHBOARD_PATH}. */
  readonly path: string;
  /** The variable parts of the path, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The fields of the form that was sent; none with a GET. */
  readonly form: URLSearchParams;
  readonly session: Session;
  /** As the key's own, but for which mail it is about: see `mail`. */
  readonly principal: Principal;
  /** Which mail is shown and sent; `testOnly` with a test key, which reaches no other. */
  readonly mail: "live" | "test" | "testOnly";
  /** Goes into every form that changes something: see `PostForm`. */
  readonly formToken: string;
  readonly workspaceId: string;
  /** Of the workspace. */
  readonly workspaceName: string;
  /** Whether the key has this scope: what it may not do is not shown. */
  may(scope: Scope): boolean;
  /** How far read models are that are being built: pages lack what these have not come to. Null while all keep up. */
  readonly readModelBuild: ReadModelBuild | null;
  /** The address of a page of the dashboard, by its path: `to("/messages")`. */
  to(path: string): string;
  /** The address of anything else of the service: `outside("/docs")`. */
  outside(path: string): string;
  /** Leads the browser on to a page of the dashboard; after a form, with the sentence that says there what has happened. */
  seeOther(path: string, notice?: string): Response;
  /** The command context of this request: its actor is the session's key. */
  commandContext(): WorkspaceCommandContext;
}

/** What a page shows, within the layout. */
export interface Page {
  readonly title: string;
  /** 200 unless given. */
  readonly status?: number;
  /** Pages above this one, the topmost first: Esc goes to the last of them. */
  readonly above?: readonly { readonly path: string; readonly title: string }[];
  /** Scripts and styles that only this page needs. */
  readonly assets?: readonly AssetName[];
  /** Whether it lacks all that it is about, because the read models are being built. */
  readonly isWithoutRows?: boolean;
  /** Wide pages use the whole width. */
  readonly isWide?: boolean;
  readonly body: Child;
}

/** A page, or an action: its method, its path below {@link DASHBOARD_PATH}, and the scope that its key must hold. */
export interface DashboardRoute {
  readonly method: "GET" | "POST";
  /** Variable parts begin with a colon: `/messages/:id`. */
  readonly path: string;
  /** Null: every key may. */
  readonly scope: Scope | null;
  /** The longest form, in bytes; that of a small one unless given. */
  readonly formBytesMax?: number;
  /**
   * Its form has a file (`multipart/form-data`), which the route reads as it comes. `form` is empty, and the token stands
   * in the address, where it is known before the file is read: see `UploadForm`.
   */
  readonly takesFile?: true;
  /** Asked for by a script and not by a person: it keeps no session alive. */
  readonly isBackground?: true;
  answer(context: PageContext): Promise<Page | Response>;
}

/** What is asked for by following a link. */
export function get(path: string, scope: Scope | null, answer: DashboardRoute["answer"]): DashboardRoute {
  return { method: "GET", path, scope, answer };
}

/** What a script asks for and not a person. */
export function getInBackground(
  path: string,
  scope: Scope | null,
  answer: DashboardRoute["answer"],
): DashboardRoute {
  return { ...get(path, scope, answer), isBackground: true };
}

/** What is done by sending a form. */
export function post(path: string, scope: Scope | null, answer: DashboardRoute["answer"]): DashboardRoute {
  return { method: "POST", path, scope, answer };
}

/** The longest form that a route takes, in bytes. */
export function formBytesMax(route: DashboardRoute): number {
  return route.formBytesMax ?? SMALL_BODY_BYTES_MAX;
}

/** Finds routes by method and path. */
export interface RouteTable {
  /** The route of a path below {@link DASHBOARD_PATH}; the methods that the path takes where this one is none of them. */
  find(
    method: string,
    path: string,
  ):
    | { readonly route: DashboardRoute; readonly params: Readonly<Record<string, string>> }
    | { readonly methods: readonly string[] };
}

export function routeTable(routes: readonly DashboardRoute[]): RouteTable {
  const compiled = routes.map((route) => ({
    route,
    pattern: new RegExp(`^${route.path.replace(/:([a-zA-Z]+)/g, "(?<$1>[^/]+)")}$`),
  }));
  return {
    find(method, path) {
      const matching = compiled.flatMap(({ route, pattern }) => {
        const match = pattern.exec(path);
        return match === null ? [] : [{ route, params: decodedParams(match.groups ?? {}) }];
      });
      const found = matching.find(({ route }) => route.method === method);
      return found ?? { methods: [...new Set(matching.map(({ route }) => route.method))] };
    },
  };
}

function decodedParams(groups: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(groups).map(([name, part]) => [name, decodeURIComponent(part)]));
}
