import type { Child } from "hono/jsx";
import type { Principal } from "../../../commands/apiKey/authenticate.ts";
import type { Scope } from "../../../domain/apiKey/scopes.ts";
import type { WorkspaceCommandContext } from "../../../kernel/event/commandContext.ts";
import type { EpochMs } from "../../../kernel/time.ts";
import type { AssetName } from "./assets.ts";
import type { ReadModelBuild } from "./dashboardOptions.ts";
import type { Session } from "./sessions.ts";

/** The dashboard's path, below the path of BASE_URL. */
export const DASHBOARD_PATH = "/dashboard";

/** One request of a logged-in user, as a page sees it. */
export interface PageContext {
  readonly request: Request;
  /** The requested path, below {@link DASHBOARD_PATH}. */
  readonly path: string;
  /** The variable parts of the path, by name. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The fields of the submitted form; none with a GET. */
  readonly form: URLSearchParams;
  readonly session: Session;
  /** The key's own principal, except for whether it sees test mail: see `mail`. */
  readonly principal: Principal;
  /** Which mail is shown and sent; `testOnly` with a test key, which reaches no other. */
  readonly mail: "live" | "test" | "testOnly";
  /** Goes into every form that changes something: see `PostForm`. It is another one for each page. */
  readonly formToken: string;
  /**
   * The id of the submitted form, however often it is submitted, as a uuid; empty with a GET. What a form creates has its
   * id from it, so a repeat, on whatever instance, creates nothing: see `secretAlreadyShownPage`.
   */
  readonly formId: string;
  readonly workspaceId: string;
  readonly workspaceName: string;
  /** Since when the workspace's sending is paused; null while it is not. */
  readonly pausedSince: EpochMs | null;
  /** Why the service itself has paused it, as a sentence; null if somebody asked for it. */
  readonly pauseReason: string | null;
  /** Whether mail is only written to files, which the outbox shows. */
  readonly isOutbox: boolean;
  /** Whether the key has this scope. Pages hide what it may not do. */
  may(scope: Scope): boolean;
  /** The progress of read models being built, which pages still lack rows of. Null while all are caught up. */
  readonly readModelBuild: ReadModelBuild | null;
  /** The address of a dashboard page, by its path: `to("/messages")`. */
  to(path: string): string;
  /** The address of anything else in the service: `outside("/docs")`. */
  outside(path: string): string;
  /** Redirects to a dashboard page; after a form, with a notice there of what happened. */
  seeOther(path: string, notice?: string): Response;
  /** Checks the session again if the body was long on its way. Throws UNAUTHORIZED. */
  requireSession(): Promise<void>;
  /** The command context of this request: its actor is the session's key. */
  commandContext(): WorkspaceCommandContext;
}

/** What a page shows, within the layout. */
export interface Page {
  readonly title: string;
  /** 200 unless given. */
  readonly status?: number | undefined;
  /** Pages above this one, topmost first. Esc goes to the last of them. */
  readonly above?: readonly { readonly path: string; readonly title: string }[];
  /** Scripts and styles that only this page needs. */
  readonly assets?: readonly AssetName[];
  /** Whether it has nothing to show yet, because the read models are being built. */
  readonly isWithoutRows?: boolean;
  /** Wide pages use the whole width. */
  readonly isWide?: boolean;
  readonly body: Child;
}

/** A page or an action: its method, its path below {@link DASHBOARD_PATH}, and the scope its key must hold. */
export interface DashboardRoute {
  readonly method: "GET" | "POST";
  /** Variable parts begin with a colon: `/messages/:id`. */
  readonly path: string;
  /** Null: every key may. */
  readonly scope: Scope | null;
  /** The longest form, in bytes; by default a small body's limit. */
  readonly formBytesMax?: number;
  /**
   * Its form holds a file (`multipart/form-data`), which the route reads as it arrives; after that it calls
   * `requireSession`. `form` is empty, and the token is in the address, to be known before the file is read: see
   * `UploadForm`.
   */
  readonly takesFile?: true;
  /** Requested by a script, not by a person, so it does not keep a session alive. */
  readonly isBackground?: true;
  answer(context: PageContext): Promise<Page | Response>;
}

/** A page, reached by a link. */
export function get(path: string, scope: Scope | null, answer: DashboardRoute["answer"]): DashboardRoute {
  return { method: "GET", path, scope, answer };
}

/** A request by a script, not by a person. */
export function getInBackground(
  path: string,
  scope: Scope | null,
  answer: DashboardRoute["answer"],
): DashboardRoute {
  return { ...get(path, scope, answer), isBackground: true };
}

/** An action, done by submitting a form. */
export function post(path: string, scope: Scope | null, answer: DashboardRoute["answer"]): DashboardRoute {
  return { method: "POST", path, scope, answer };
}

/** Finds routes by method and path. */
export function routeTable(routes: readonly DashboardRoute[]) {
  const compiled = routes.map((route) => ({
    route,
    pattern: new RegExp(`^${route.path.replace(/:([a-zA-Z]+)/g, "(?<$1>[^/]+)")}$`),
  }));
  return {
    /** The route of a path below {@link DASHBOARD_PATH}; the methods that the path takes if this is none of them. */
    find(method: string, path: string) {
      const matching = compiled.flatMap(({ route, pattern }) => {
        const match = pattern.exec(path);
        return match === null ? [] : [{ route, params: decodedParams(match.groups ?? {}) }];
      });
      const found = matching.find(({ route }) => route.method === method);
      return found ?? { methods: [...new Set(matching.map(({ route }) => route.method))] };
    },
  };
}

function decodedParams(groups: Readonly<Record<string, string>>): PageContext["params"] {
  return Object.fromEntries(Object.entries(groups).map(([name, part]) => [name, decodeURIComponent(part)]));
}
