import { get, type IncomingMessage } from "node:http";
import { readAtMost } from "../../kernel/byteBuffer.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { isDataDirectoryLocked } from "../../service/dataDirectoryLock.ts";
import { type ServiceAddress, serviceAddress } from "../../service/localControlServer.ts";
import { waitingFor } from "../output/waitingFor.ts";

/** Far more than a service has to say. The address comes from a file, so anybody may be answering. */
const ANSWER_BYTES_MAX = 1_000_000;
/** A service that runs answers this soon, however long its checks take. One that is suspended never does. */
const RESPONDS_MS_MAX = 5_000;

/**
 * A service's answer. `silent`: it left its address but does not answer. `busy`: there is no address, but something
 * holds the data directory. `none`: nothing holds it.
 */
type ServiceAnswer =
  | { readonly kind: "answered"; readonly body: unknown }
  | { readonly kind: "silent" | "busy" | "none" };

type ControlPath = "/status" | "/settled" | `/waiting?email=${string}` | `/dashboard-link${string}`;

export async function askRunningService(
  dataDir: string,
  path: ControlPath,
  timeoutMs: number,
): Promise<ServiceAnswer> {
  const address = await serviceAddress(dataDir);
  const body = address && (await waitingFor("the service", answerOf(address, path, timeoutMs)));
  if (body !== null) return { kind: "answered", body };
  // Checked last: a service that is just starting must find the lock free.
  if (!isDataDirectoryLocked(dataDir)) return { kind: "none" };
  return { kind: address === null ? "busy" : "silent" };
}

/** The answer as JSON; null for anything else, and if the service does not respond at all. */
async function answerOf(address: ServiceAddress, path: string, timeoutMs: number): Promise<unknown> {
  // Any answer will do, and earlier releases give one to every path.
  const sign = await responseOf(address, "/", Math.min(timeoutMs, RESPONDS_MS_MAX));
  if (sign === null) return null;
  sign.resume();
  const response = await responseOf(address, path, timeoutMs);
  if (response?.statusCode !== 200) return null;
  const bytes = await readAtMost(ANSWER_BYTES_MAX, response).catch(() => null);
  return bytes === null ? null : (parseJson(bytes.toString()) ?? null);
}

/** What answers; null if nothing does. Not with `fetch`, which would use a proxy from the environment. */
function responseOf(
  { url, token }: ServiceAddress,
  path: string,
  timeoutMs: number,
): Promise<IncomingMessage | null> {
  return new Promise((resolve) => {
    const options = { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(timeoutMs) };
    get(url + path, options, resolve).on("error", () => resolve(null));
  });
}
