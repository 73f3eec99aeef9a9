import { type Principal, principalOfKey } from "../../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { isUsable } from "../../../domain/apiKey/state.ts";
import { DAY_MS, type EpochMs, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../kernel/time.ts";
import { cookieOf, setCookie } from "./cookies.ts";

/** A session ends when nobody has asked for a page for so long, in ms. */
export const SESSION_IDLE_MS_MAX = 12 * HOUR_MS;
/** A session ends so long after its log-in whatever happens, in ms. */
export const SESSION_MS_MAX = 7 * DAY_MS;
/** A cookie is made anew when it is this old, in ms: not with each page. */
const RENEWED_AFTER_MS = 5 * MINUTE_MS;
/** Sessions of pasted keys that were ended by log-out are remembered until they would have ended; so many at most. */
const ENDED_MAX = 10_000;

const PURPOSE = "dashboard session";

/** One log-in of a browser. */
export interface Session {
  readonly id: string;
  /** The API key that it is bound to: what that may do, the session may do. */
  readonly keyId: string;
  /** Whether the key was made for this session alone, by a log-in link: it is revoked at log-out. */
  readonly hasOwnKey: boolean;
  readonly startedAt: EpochMs;
  /** When the cookie was made. */
  readonly seenAt: EpochMs;
  /** Whether it is shown test mail in place of live mail; absent: live mail. */
  readonly showsTest?: boolean;
}

/** What a request has shown for itself. */
export interface LoggedIn {
  readonly session: Session;
  readonly principal: Principal;
}

/** Makes, reads and ends sessions. A session is an encrypted cookie: it holds on every instance that opens the log. */
export interface Sessions {
  /** Begins a session; answers the Set-Cookie header. */
  begin(keyId: string, options: { readonly hasOwnKey: boolean }): string;
  /** Who is asking; null without a session, with one that has ended, and when its key opens nothing any more. */
  of(request: Request): Promise<LoggedIn | null>;
  /** Whether a request shows a session, be it one that has ended. */
  isShown(request: Request): boolean;
  /** Whether a session goes on: as of its beginning, and as its key is now. */
  isAlive(session: Session): Promise<boolean>;
  /** The Set-Cookie header that keeps a session going; null while its cookie is young enough. */
  renewed(session: Session): string | null;
  /** Shows a session test mail, or live mail, from here on; answers the Set-Cookie header. */
  showing(session: Session, showsTest: boolean): string;
  /** Ends a session on this instance; answers the Set-Cookie header that takes the cookie away. */
  end(session: Session): string;
  /** What a form of this session carries. */
  formToken(session: Session): string;
}

interface SessionOptions {
  readonly deps: Dependencies;
  readonly cookiePath: string;
  /** Whether browsers come by https. */
  readonly isSecure: boolean;
}

export function makeSessions({ deps, cookiePath, isSecure }: SessionOptions): Sessions {
  const { keys, clock } = deps;
  // Cookies know no ports: two deps on one host must not take each other's away.
  const name = `postledger_${keys.formToken("name of the cookie").slice(0, 8)}`;
  const ended = new Map<string, EpochMs>();
  const cookie = (value: string, maxAgeSeconds: number) =>
    setCookie({ name, value, path: cookiePath, isSecure, maxAgeSeconds });
  const encrypted = (session: Session) =>
    cookie(
      keys.encryptForBrowser(PURPOSE, JSON.stringify(session)),
      Math.max(0, Math.floor((session.startedAt + SESSION_MS_MAX - clock.now()) / SECOND_MS)),
    );
  const isOver = ({ id, startedAt, seenAt }: Session) => {
    const now = clock.now();
    return ended.has(id) || now >= startedAt + SESSION_MS_MAX || now >= seenAt + SESSION_IDLE_MS_MAX;
  };
  return {
    begin(keyId, { hasOwnKey }) {
      const id = crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url" });
      return encrypted({ id, keyId, hasOwnKey, startedAt: clock.now(), seenAt: clock.now() });
    },
    async of(request) {
      const text = cookieOf(request, name);
      const plain = text === null ? null : keys.decryptFromBrowser(PURPOSE, text);
      if (plain === null) return null;
      const session = JSON.parse(plain) as Session;
      if (isOver(session)) return null;
      const principal = await principalOfKey(deps, session.keyId);
      return principal && { session, principal };
    },
    isShown: (request) => cookieOf(request, name) !== null,
    // Not by `principalOfKey`, which notes that somebody uses the key: a page that is left open does not.
    isAlive: async (session) =>
      !isOver(session) && isUsable(await deps.apiKeys.get(session.keyId), clock.now()),
    renewed(session) {
      const now = clock.now();
      return now < session.seenAt + RENEWED_AFTER_MS ? null : encrypted({ ...session, seenAt: now });
    },
    showing: (session, showsTest) => encrypted({ ...session, showsTest, seenAt: clock.now() }),
    end({ id, startedAt }) {
      remember(ended, id, startedAt + SESSION_MS_MAX);
      return cookie("", 0);
    },
    formToken: ({ id }) => keys.formToken(id),
  };
}

/** The oldest make room. */
function remember(ended: Map<string, EpochMs>, id: string, until: EpochMs): void {
  ended.set(id, until);
  const [oldest] = ended.keys();
  if (ended.size > ENDED_MAX && oldest !== undefined) ended.delete(oldest);
}
