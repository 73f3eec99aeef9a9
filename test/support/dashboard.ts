import { TOKEN_FIELD } from "../../src/http/dashboard/components/form.tsx";

/** An answer of the dashboard. */
export interface PageAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
  /** Where it redirects to, or null. */
  readonly location: string | null;
}

/** A client with a session. */
export interface Visitor {
  /** The Cookie header of the session. */
  readonly cookie: string;
  /** The token that proves that a form was made for this session. */
  formToken(): Promise<string>;
  /** A page, by its path below `/dashboard`: `get("/messages")`. */
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<PageAnswer>;
  /** Sends a form with the session's token; `fields` of `null` leaves the token out. */
  post(
    path: string,
    fields?: Readonly<Record<string, string>> | null,
    headers?: Readonly<Record<string, string>>,
  ): Promise<PageAnswer>;
}

/** One request to the dashboard of the service at `url`, without a session unless the headers contain one. */
export async function askDashboard(url: string, path: string, init: RequestInit = {}): Promise<PageAnswer> {
  const response = await fetch(`${url}/dashboard${path === "/" ? "" : path}`, {
    redirect: "manual",
    ...init,
  });
  const { status, headers } = response;
  return { status, headers, html: await response.text(), location: headers.get("location") };
}

/** Submits the log-in form. */
export function submitLogIn(
  url: string,
  secret: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<PageAnswer> {
  return askDashboard(url, "/log-in", { method: "POST", body: new URLSearchParams({ secret }), headers });
}

/** Logs in with an API key or a log-in link. Throws if that is refused. */
export async function logIn(url: string, secret: string): Promise<Visitor> {
  const answer = await submitLogIn(url, secret);
  const cookie = answer.headers.get("set-cookie")?.split(";")[0];
  if (answer.status !== 303 || cookie === undefined)
    throw new Error(`log-in refused: ${answer.status} ${answer.html}`);
  return visitorOf(url, cookie);
}

/** A client with the cookie of a session. */
export function visitorOf(url: string, cookie: string): Visitor {
  const get: Visitor["get"] = (path, headers = {}) =>
    askDashboard(url, path, { headers: { cookie, ...headers } });
  const formToken = async () => {
    const { html } = await get("/");
    const [, token] = new RegExp(`name="${TOKEN_FIELD}" value="([^"]+)"`).exec(html) ?? [];
    if (token === undefined) throw new Error("the page has no form");
    return token;
  };
  return {
    cookie,
    formToken,
    get,
    async post(path, fields = {}, headers = {}) {
      const token: Record<string, string> = fields === null ? {} : { [TOKEN_FIELD]: await formToken() };
      const body = new URLSearchParams({ ...token, ...fields });
      return askDashboard(url, path, { method: "POST", body, headers: { cookie, ...headers } });
    },
  };
}
