import type { Described } from "../gate/documentedAnswers.ts";
import type { Workspace } from "./world.ts";

/** How a request came about. */
export type Mode = "valid" | "nearly valid" | "hostile";

/** One request of the fuzzer, ready to be sent. */
export interface FuzzRequest {
  /** The operation that it is meant for. */
  readonly one: Described;
  readonly mode: Mode;
  /** What is odd about it, for people. */
  readonly what: string;
  readonly workspace: Workspace;
  readonly method: string;
  /** By the names in the document's path. */
  readonly params: Readonly<Record<string, string>>;
  /** Path and query below the service's URL, as they go over the wire. */
  readonly target: string;
  /** Without Content-Length. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | null;
  /** Names a resource of another workspace where only one's own will do: it must not succeed. */
  readonly isForeign: boolean;
  /** Goes over a socket of its own, byte for byte: `fetch` would tidy it up or refuse it. */
  readonly isRaw: boolean;
  /** The server's HTTP parser may refuse it before our program sees it. */
  readonly isMalformed: boolean;
}

/** What mutations change: the request before it is written down. */
export interface Draft {
  readonly one: Described;
  readonly workspace: Workspace;
  method: string;
  /** By the names in the document's path. */
  params: Record<string, string>;
  query: [name: string, value: string][];
  /** In place of what the path, its parameters and the query make. */
  target?: string;
  headers: Record<string, string>;
  body: string | Uint8Array | null;
  isForeign: boolean;
  isRaw: boolean;
  isMalformed: boolean;
}

/** The path and query of a draft. */
export function targetOf({ one, params, query, target }: Draft): string {
  if (target !== undefined) return target;
  const path = one.path.replace(/\{([a-z_]+)\}/g, (_, name: string) => params[name] ?? "");
  const pairs = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? path : `${path}?${pairs.join("&")}`;
}
