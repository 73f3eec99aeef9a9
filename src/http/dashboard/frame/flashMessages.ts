import type { InstanceKeys } from "../../../kernel/crypto/instanceKeys.ts";
import { type CookieScope, createCookie } from "./cookies.ts";
import type { Session } from "./sessions.ts";

/** Long enough for the page after a form to load. */
const NOTICE_SECONDS = 30;
const NAME = "postledger_notice";

/** Reports the result of a form on the next page, once. */
export function createFlashMessages(keys: InstanceKeys, scope: CookieScope) {
  const purpose = ({ id }: Session) => `notice of ${id}`;
  const cookie = createCookie(NAME, scope);
  return {
    /** The Set-Cookie header that carries a sentence to the session's next page. */
    leave: (session: Session, text: string) =>
      cookie.set(keys.encryptForBrowser(purpose(session), text), NOTICE_SECONDS),
    /** The sentence left for the session; null if there is none. */
    take(request: Request, session: Session): string | null {
      const encrypted = cookie.of(request);
      return encrypted === null ? null : keys.decryptFromBrowser(purpose(session), encrypted);
    },
    /** The Set-Cookie header that removes a sentence once it was shown. */
    forget: cookie.set("", 0),
  };
}

const notices = new WeakMap<Response, string>();

/** Redirects to a page after a form, with a notice to show there. `path` is the page's whole address. */
export function seeOther(path: string, notice?: string): Response {
  const response = new Response(null, { status: 303, headers: { location: path } });
  if (notice !== undefined) notices.set(response, notice);
  return response;
}

/** The notice that a redirect carries. */
export function noticeOf(response: Response): string | null {
  return notices.get(response) ?? null;
}
