import { isIP } from "node:net";
import { basename, dirname } from "node:path";
import { DiskFullError } from "../../commands/storage/diskFullError.ts";
import { CONTENT_STORE_FILES } from "../../kernel/contentPath.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { systemErrorCode, systemErrorText } from "../../kernel/text/systemErrorText.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { Config } from "../config/config.ts";
import { ConfigError } from "../config/configError.ts";
import type { ContentLocation } from "../config/contentStoreConfig.ts";
import { filePermissionFault } from "./filePermissionFault.ts";
import { isDiskFull, MAKE_ROOM } from "./isDiskFull.ts";

/** The fault in a few words: what the operating system's code means, else what the error says. */
function faultOf(error: unknown): string {
  return systemErrorText(error) ?? messageOf(error);
}

/** A full disk is no fault of the setting, and may have room at the next start. */
function diskFullError(setting: string): DiskFullError {
  return new DiskFullError(`${setting} cannot be used: its disk is full. To do: ${MAKE_ROOM}`);
}

/** A setting that names a directory, and the files of ours that are opened there. */
interface OwnDirectory {
  readonly variable: string;
  /** A path, or a `file:` URL. */
  readonly value: string;
  readonly files: readonly string[];
}

/** Why a directory that a setting names cannot hold data. */
export function directoryError({ variable, value, files }: OwnDirectory, error: unknown): Error {
  const directory = value.replace(/^file:/, "");
  const setting = `${variable} ${value}`;
  if (isDiskFull(error, directory)) return diskFullError(setting);
  const remedy = `${faultOf(error)}. Set ${variable} to a directory that this user can write to`;
  return new ConfigError([
    `${setting} cannot be used: ${filePermissionFault(error, directory, files) ?? remedy}`,
  ]);
}

/** Why one of our files cannot be used; errors that are not about the file come back unchanged. */
export function fileError(path: string, error: unknown): unknown {
  const fault = filePermissionFault(error, dirname(path), [basename(path)]) ?? systemErrorText(error);
  return fault === null ? error : new ConfigError([`${path} cannot be used: ${fault}`]);
}

/** Why the place that somebody named cannot be written to; null for an error that is not about the place. */
export function placeFault(error: unknown): string | null {
  const fault = systemErrorText(error);
  if (fault === null) return null;
  const { path: from, dest, syscall } = error as NodeJS.ErrnoException & { readonly dest?: string };
  // In a rename, the target's name tells people more than the source's.
  const path = dest ?? from;
  // A missing file may be our own fault, unless a directory was to be made.
  if (systemErrorCode(error) === "ENOENT" && syscall !== "mkdir") return null;
  return path === undefined ? fault : `${path} cannot be used: ${fault}`;
}

/** The prefix of the settings that say where something listens: SUBMISSION_HOST, SUBMISSION_PORT. */
type ListenPrefix = "" | "SUBMISSION_" | "INBOUND_" | "METRICS_";

/** Why nothing can listen where the two settings say; errors that are not about them come back unchanged. */
export function listenError(
  prefix: ListenPrefix,
  { host, port }: Pick<Config, "host" | "port">,
  error: unknown,
): unknown {
  const settings = { host: `${prefix}HOST`, port: `${prefix}PORT` };
  const configError = (text: string) => new ConfigError([text]);
  const noAddress = () =>
    configError(
      `${settings.host} ${host} is not an address of this machine: set ${settings.host} to one that is (0.0.0.0: all of them)`,
    );
  switch (systemErrorCode(error)) {
    case "EADDRINUSE":
      return configError(
        `${settings.port} ${port} on ${host} is in use by another program: stop that one, or set ${settings.port} (0: any free port)`,
      );
    case "EACCES":
    case "EPERM":
      return configError(
        `${settings.port} ${port} is not open to this user: set ${settings.port} to one above 1023`,
      );
    case "EADDRNOTAVAIL":
    case "EINVAL":
      return noAddress();
    case null:
      return error;
    default:
      // For a name that is not found, Bun gives whatever code the system's last error had.
      return isIP(host) === 0 ? noAddress() : error;
  }
}

/** What is wrong with an EventStoreDB STORE_URL, judged by the server's or the handshake's message, and what to do. */
const STORE_FAULTS: readonly (readonly [pattern: RegExp, predicate: string])[] = [
  [
    /unauthenticated/i,
    "refuses the user name or the password: set both in STORE_URL (esdb://user:password@host:2113), each percent-encoded",
  ],
  [
    /unable to (verify|get)|self[- ]signed/i,
    "has a certificate from an authority that this machine does not know: add tlsCAFile=/path/to/ca.crt to STORE_URL, the certificate of that authority in PEM",
  ],
  [
    /altname|does not match certificate/i,
    "has a certificate for other hosts: name the host in STORE_URL, and let a cluster advertise its nodes, as their certificates do",
  ],
  [/wrong[ _]version[ _]number/i, "speaks no TLS: add tls=false to STORE_URL"],
];
const ACCESS_DENIED = /permission_denied|access denied|access to the stream is denied/i;

/** Why the store does not open the log; other errors come back unchanged. */
export function storeError({ storeUrl }: Pick<Config, "storeUrl">, error: unknown): unknown {
  if (!(error instanceof StoreError) || !storeUrl.startsWith("esdb")) return error;
  const server = `STORE_URL: EventStoreDB at ${storeHosts(storeUrl)}`;
  const known = STORE_FAULTS.find(([pattern]) => pattern.test(error.message));
  if (known !== undefined) return new ConfigError([`${server} ${known[1]}`]);
  const hasUser = /^[^:]+:\/\/[^/?]*@/.test(storeUrl);
  if (ACCESS_DENIED.test(error.message) && !hasUser) {
    return new ConfigError([`${server} requires a user: set STORE_URL to esdb://user:password@host:2113`]);
  }
  const remedy = ACCESS_DENIED.test(error.message)
    ? "denies its user access. Give the user the rights that docs/eventstoredb.md lists"
    : `does not answer as it should: ${storeFault(error)}. Start it, or set STORE_URL to where it is (tls=false for a node without TLS)`;
  return new StoreError(error.failure, `${server} ${remedy}`, { cause: error });
}

/** The vendor client's message, without its wrapping. */
function storeFault({ message }: StoreError): string {
  const reason = message.replace(/^EventStoreDB: cannot [^:]*: /, "");
  return /Last error: (?:\w*Error(?: \[\w+\])?: )?(.*?)\.? Resolution note/.exec(reason)?.[1] ?? reason;
}

/**
 * What to say about a connection string that the vendor's client rejects. It may hold a password, so none of it is
 * shown.
 */
export function connectionStringError(error: unknown): ConfigError {
  const message = error instanceof Error ? error.message : "";
  if (/certificate file|ENOENT|EACCES|Invalid CA|PEM/i.test(message)) {
    return new ConfigError([
      "STORE_URL: tlsCAFile names a file that does not exist or holds no certificate: it must be the certificate, in PEM, of the authority that issued EventStoreDB's",
    ]);
  }
  return new ConfigError([
    "STORE_URL must be a connection string of EventStoreDB such as esdb://user:password@host:2113 or esdb://host:2113?tls=false",
  ]);
}

/** A second `@`, or a `/` before one, ahead of the parameters: user and password end at the first. */
const NOT_ENCODED = /^[^:]+:\/\/[^?]*(@|\/)[^?]*@/;

/** Throws if `url` is ambiguous: what looks like the host may be part of the password. */
export function requireEncodedUser(url: string): void {
  if (!NOT_ENCODED.test(url)) return;
  throw new ConfigError([
    "STORE_URL: percent-encode its user name and password: `/` is %2F, `@` is %40, `:` is %3A, `%` is %25",
  ]);
}

/** The nodes that a connection string names, without user and password. */
function storeHosts(url: string): string {
  return url.replace(/^[^:]+:\/\/(?:[^@]*@)?/, "").replace(/[/?].*$/s, "");
}

/** Why the content store cannot be used. */
export function contentError({ content }: Pick<Config, "content">, error: unknown): unknown {
  if (!(error instanceof StoreError)) return error;
  const fault = error.cause ?? error;
  switch (content.kind) {
    case "directory":
      return directoryError(
        { variable: "CONTENT_URL", value: content.url, files: CONTENT_STORE_FILES },
        fault,
      );
    case "s3": {
      // A bucket may come back in a moment; a directory depends on the setting.
      const remedy = "Check CONTENT_URL, S3_ENDPOINT, S3_REGION and the access key";
      const text = `CONTENT_URL ${content.url} cannot be used: ${faultOf(fault)}. ${remedy}`;
      return new StoreError(error.failure, text, { cause: error });
    }
  }
}

/** Why a log does not open whose content store, with this id, is not where CONTENT_URL says. */
export function lostContentError(content: ContentLocation, contentStoreId: string): ConfigError {
  const rest = `If it is lost, docs/backups.md says how to go on without it; its identity is ${contentStoreId}`;
  switch (content.kind) {
    case "directory":
      return new ConfigError([
        `the content directory ${content.directory} is missing or empty (it has no file \`identity\`): put it back, set CONTENT_URL to where it is, or copy \`content\` of the newest backup there. ${rest}`,
      ]);
    case "s3":
      return new ConfigError([
        `there is no content at CONTENT_URL ${content.url} (no object \`identity\`): set CONTENT_URL to where it is, or bring it back. ${rest}`,
      ]);
  }
}
