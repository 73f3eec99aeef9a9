import { readFileSync } from "node:fs";
import { type Deadline, leftMs } from "./deadline.ts";

/** How long one request to a server may take. */
const REQUEST_MS_MAX = 5_000;
const PORT_DEFAULT = 2_113;

/** The HTTP interface of the servers in a connection string. */
export interface AdminHttpApi {
  /** The servers as `host:port`, in the order of the string. */
  readonly hosts: readonly string[];
  /** Sends a request to one of them. Throws what `fetch` throws, and when the deadline passes. */
  ask(host: string, method: "GET" | "POST", path: string, deadline: Deadline): Promise<AdminHttpResponse>;
}

export interface AdminHttpResponse {
  readonly status: number;
  readonly text: string;
}

/** Parses the connection string again, because the vendor's client does not expose its settings. */
export function adminHttpApi(url: string): AdminHttpApi {
  const [, user = "", places = "", query = ""] =
    /^[^:]+:\/\/(?:([^@/]*)@)?([^/?]*)\/?(?:\?(.*))?$/.exec(url.trim()) ?? [];
  const parameters = new Map(
    [...new URLSearchParams(query)].map(([name, value]) => [name.toLowerCase(), value]),
  );
  const scheme = parameters.get("tls")?.toLowerCase() === "false" ? "http" : "https";
  const authorities = parameters.get("tlscafile");
  const tls = {
    rejectUnauthorized: parameters.get("tlsverifycert")?.toLowerCase() !== "false",
    ...(authorities === undefined ? {} : { ca: readFileSync(authorities, "utf8") }),
  };
  const credentials = user.split(":", 2).map(decodeURIComponent).join(":");
  const authorization =
    user === "" ? {} : { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` };
  return {
    hosts: places.split(",").map((place) => (/:\d+$/.test(place) ? place : `${place}:${PORT_DEFAULT}`)),
    async ask(host, method, path, deadline) {
      const timeMs = Math.ceil(Math.min(REQUEST_MS_MAX, leftMs(deadline)));
      const response = await fetch(`${scheme}://${host}${path}`, {
        method,
        headers: { accept: "application/json, text/plain", ...authorization },
        signal: AbortSignal.timeout(timeMs),
        ...(scheme === "https" ? { tls } : {}),
      });
      return { status: response.status, text: await response.text() };
    },
  };
}
