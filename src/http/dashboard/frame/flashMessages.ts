import type { InstanceKeys } from "../../../kernel/crypto/instanceKeys.ts";
import { cookieOf, setCookie } from "./cookies.ts";
import type { Session } from "./sessions.ts";

/** Long enough for the page after a form to load. */
const NOTICE_SECONDS = 30;
const NAME = "postledger_notice";

/** Reports the result of a form on the next page, once. */
interface FlashMessages {
  /** The Set-Cookie header that carries a sentence to the session's next page. */
  leave(session: Session, text: string): string;
  /** The sentence left for the session; null if there is none. */
  take(request: Request, session: Session): string | null;
  /** The Set-Cookie header that removes a sentence once it was shown. */
  readonly forget: string;
}

export function createFlashMessages(
  keys: InstanceKeys,
  { cookiePath, isSecure }: { readonly cookiePath: string; readonly isSecure: boolean },
): FlashMessages {
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
