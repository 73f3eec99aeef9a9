import type { InstanceKeys } from "../../../kernel/crypto/instanceKeys.ts";
import { cookieOf, setCookie } from "./cookies.ts";
import type { Session } from "./sessions.ts";

/** Long enough for the page that a form leads to. */
const NOTICE_SECONDS = 30;
const NAME = "postledger_notice";

/** Tells on the next page what became of a form. */
export interface Notices {
  /** The Set-Cookie header that carries a sentence to the next page of the session. */
  leave(session: Session, text: string): string;
  /** What was left for the session; null where nothing was. */
  take(request: Request, session: Session): string | null;
  /** The Set-Cookie header that takes a sentence away once it was shown. */
  readonly forget: string;
}

export function makeNotices(
  keys: InstanceKeys,
  { cookiePath, isSecure }: { readonly cookiePath: string; readonly isSecure: boolean },
): Notices {
  const purpose = ({ id }: Session) => `notice of ${id}`;
  const cookie = (value: string, maxAgeSeconds: number) =>
    setCookie({ name: NAME, value, path: cookiePath, isSecure, maxAgeSeconds });
  return {
    leave: (session, text) => cookie(keys.encryptForBrowser(purpose(session), text), NOTICE_SECONDS),
    take(request, session) {
      const encrypted = cookieOf(request, NAME);
      return encrypted === null ? null : keys.decryptFromBrowser(purpose(session), encrypted);
    },
    forget: cookie("", 0),
  };
}

const notices = new WeakMap<Response, string>();

/** Leads the browser on to a page after a form, which then says what has happened. `path` is the page's whole address. */
export function seeOther(path: string, notice?: string): Response {
  const response = new Response(null, { status: 303, headers: { location: path } });
  if (notice !== undefined) notices.set(response, notice);
  return response;
}

/** The notice that an answer has for the page that it leads to. */
export function noticeOf(response: Response): string | null {
  return notices.get(response) ?? null;
}
