import { PERSON_RULE, parsePerson } from "../../../domain/apiKey/person.ts";
import { equalInConstantTime } from "../../../kernel/crypto/equalInConstantTime.ts";
import { type AddressRange, isClientIn } from "../../../kernel/network/clientIp.ts";
import { Problem, unavailable } from "../../server/problem.ts";
import { requestContextOf } from "../../server/requestContext.ts";

/** The header with which a proxy proves itself, if it has to. */
export const LOGIN_PROXY_SECRET_HEADER = "Login-Proxy-Secret";

/** A proxy in front of the dashboard at which people log in, and which says in a header who sends a request. */
export interface LoginProxy {
  readonly header: string;
  /** Where its connections come from. Not what X-Forwarded-For says: anybody can send that. */
  readonly ranges: readonly AddressRange[];
  /** What it has to send along; null: its address is enough. */
  readonly secret: string | null;
}

/**
 * Who sends a request, in the form of `parsePerson`; null if no login proxy says so. A header that comes from anywhere
 * else counts as absent. Throws FORBIDDEN if a login proxy's own header does not name one person.
 */
export function personOf(request: Request, proxy: LoginProxy | null): string | null {
  if (proxy === null) return null;
  const peer = requestContextOf(request).peer();
  // Nobody waits for the answer. A session must not end for it.
  if (peer === null) throw unavailable("the connection has ended");
  if (!isClientIn(peer, proxy.ranges) || !provesItself(request, proxy)) return null;
  const named = request.headers.get(proxy.header) ?? "";
  if (named === "") return null;
  const person = parsePerson(named);
  if (person !== null) return person;
  const detail = `the login proxy's header ${proxy.header} does not say who you are: it must ${PERSON_RULE}. Ask whoever runs the proxy to correct it`;
  throw new Problem("FORBIDDEN", { detail });
}

function provesItself({ headers }: Request, { secret }: LoginProxy): boolean {
  return secret === null || equalInConstantTime(headers.get(LOGIN_PROXY_SECRET_HEADER) ?? "", secret);
}
