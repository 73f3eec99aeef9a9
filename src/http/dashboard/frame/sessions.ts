import { LRUCache } from "lru-cache";
import { type Principal, principalOfKey } from "../../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../../commands/dependencies.ts";
import { isUsable } from "../../../domain/apiKey/state.ts";
import { equalInConstantTime } from "../../../kernel/crypto/equalInConstantTime.ts";
import { newId } from "../../../kernel/ids.ts";
import { DAY_MS, type EpochMs, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../kernel/time.ts";
import { type CookieScope, createCookie } from "./cookies.ts";

/** A session ends after this time without a page request, in ms. */
export const SESSION_IDLE_MS_MAX = 12 * HOUR_MS;
/** A session ends this long after its log-in in any case, in ms. */
export const SESSION_MS_MAX = 7 * DAY_MS;
/** Age at which a cookie is renewed, in ms, to not renew it with each page. */
const RENEWED_AFTER_MS = 5 * MINUTE_MS;
/** How many sessions to remember that were ended before their time; the oldest make room. */
const ENDED_MAX = 10_000;

const PURPOSE = "dashboard session";

/** One log-in of a browser. */
export interface Session {
  readonly id: string;
  /** The API key it is bound to: the session may do what the key may. */
  readonly keyId: string;
  /** Whether a log-in link made the key for this session only: log-out then revokes it. */
  readonly hasOwnKey: boolean;
  /** Whom the login proxy named when it began: it is this person's only. Absent: nobody. */
  readonly person?: string;
  readonly startedAt: EpochMs;
  /** When the cookie was made. */
  readonly seenAt: EpochMs;
  /** Whether it shows test mail instead of live mail; absent: live mail. */
  readonly showsTest?: boolean;
}

/** The session and principal of a request. */
export interface LoggedIn {
  readonly session: Session;
  readonly principal: Principal;
}

/** What a session begins with. */
export interface Beginning extends Pick<Session, "keyId" | "hasOwnKey"> {
  /** Whom the login proxy names; null: nobody. */
  readonly person: string | null;
}

/** Makes, reads and ends sessions. A session is an encrypted cookie, valid on every instance that opens the log. */
export interface Sessions {
  /** Begins a session; returns the Set-Cookie header. */
  begin(beginning: Beginning): string;
  /**
   * The user of a request; null without a session, after it has ended, or once its key is no longer valid. `person` is
   * whom the login proxy names: anybody but the session's own ends it.
   */
  of(request: Request, person: string | null): Promise<LoggedIn | null>;
  /** Whether a request carries a session, even one that has ended. */
  isShown(request: Request): boolean;
  /** Whether a session is still valid, by its age and its key's current state. */
  isAlive(session: Session): Promise<boolean>;
  /** The Set-Cookie header that extends a session; null while its cookie is young enough. */
  renewed(session: Session): string | null;
  /** Switches a session to test mail or live mail; returns the Set-Cookie header. */
  showing(session: Session, showsTest: boolean): string;
  /** Ends a session on this instance; returns the Set-Cookie header that removes the cookie. */
  end(session: Session): string;
  /** A token for one form of this session, or for those of one page: it names the form, and proves whose it is. */
  formToken(session: Session): string;
  /** The id of the form that a token names; null if the token is not of this session. */
  formOf(session: Session, token: string): string | null;
}

export function createSessions(deps: Dependencies, scope: CookieScope): Sessions {
  const { keys, clock } = deps;
  // Cookies ignore ports: two services on one host must not remove each other's.
  const cookie = createCookie(`postledger_${keys.formToken("name of the cookie").slice(0, 8)}`, scope);
  const ended = new LRUCache<string, true>({ max: ENDED_MAX });
  const encrypted = (session: Session) =>
    cookie.set(
      keys.encryptForBrowser(PURPOSE, JSON.stringify(session)),
      Math.max(0, Math.floor((session.startedAt + SESSION_MS_MAX - clock.now()) / SECOND_MS)),
    );
  const isOver = ({ id, startedAt, seenAt }: Session) => {
    const now = clock.now();
    return ended.has(id) || now >= startedAt + SESSION_MS_MAX || now >= seenAt + SESSION_IDLE_MS_MAX;
  };
  return {
    begin({ person, ...bound }) {
      const id = crypto.getRandomValues(new Uint8Array(16)).toBase64({ alphabet: "base64url" });
      const whose = person === null ? {} : { person };
      return encrypted({ id, ...bound, ...whose, startedAt: clock.now(), seenAt: clock.now() });
    },
    async of(request, person) {
      const text = cookie.of(request);
      const plain = text === null ? null : keys.decryptFromBrowser(PURPOSE, text);
      if (plain === null) return null;
      const session = JSON.parse(plain) as Session;
      if (session.person !== undefined && session.person !== person) ended.set(session.id, true);
      if (isOver(session)) return null;
      const principal = await principalOfKey(deps, session.keyId);
      return principal && { session, principal };
    },
    isShown: (request) => cookie.of(request) !== null,
    // Not with `principalOfKey`, which records a use of the key: an open page is not a use.
    isAlive: async (session) =>
      !isOver(session) && isUsable(await deps.apiKeys.get(session.keyId), clock.now()),
    renewed(session) {
      const now = clock.now();
      return now < session.seenAt + RENEWED_AFTER_MS ? null : encrypted({ ...session, seenAt: now });
    },
    showing: (session, showsTest) => encrypted({ ...session, showsTest, seenAt: clock.now() }),
    end({ id }) {
      ended.set(id, true);
      return cookie.set("", 0);
    },
    formToken({ id }) {
      const formId = newId();
      return `${formId}.${keys.formToken(id, formId)}`;
    },
    formOf({ id }, token) {
      const [formId = "", proof = ""] = token.split(".");
      return equalInConstantTime(proof, keys.formToken(id, formId)) ? formId : null;
    },
  };
}
