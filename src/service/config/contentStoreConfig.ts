import { type S3Location, SERVER_SIDE_ENCRYPTIONS } from "../../adapters/s3/s3Requests.ts";
import { DAY_MS, MINUTE_MS } from "../../kernel/time.ts";
import type { EnvironmentReader } from "./environmentReader.ts";
import { namesNoDirectory } from "./storeConfig.ts";

/** Where CONTENT_URL says that content is. `url` is the setting itself. */
export type ContentLocation =
  | { readonly kind: "directory"; readonly url: string; readonly directory: string }
  | { readonly kind: "s3"; readonly url: string; readonly s3: S3Location };

/** Where content and files are kept, and which scanner checks files. */
export type ContentStoreConfig = Readonly<ReturnType<typeof readContentStoreConfig>>;

export function readContentStoreConfig(reader: EnvironmentReader, dataDir: string) {
  return {
    /** Where content too large for an event is kept. Instances of one log share it; two logs never do. */
    content: contentLocation(reader, dataDir),
    contentTimeoutMs: reader.integer("CONTENT_TIMEOUT_MS", 10_000, { min: 100, max: MINUTE_MS }),
    /** How often each instance looks for content that no message and no upload names. */
    contentSweepIntervalMs: reader.integer("CONTENT_SWEEP_INTERVAL_MS", 10 * MINUTE_MS, {
      min: 10,
      max: DAY_MS,
    }),
    /** Where clamd listens, `tcp://host:port` or `unix:/path`; null: files are not scanned for malware. */
    clamavUrl: reader.parsed("CLAMAV_URL", clamavUrl, "tcp://host:port or unix:/path, where clamd listens"),
  };
}

const DIRECTORY_URL = "file:";

/** CONTENT_URL is `file:<directory>` or `s3://<bucket>[/<prefix>]`. */
function contentLocation(reader: EnvironmentReader, dataDir: string): ContentLocation {
  const url = reader.text("CONTENT_URL", `${DIRECTORY_URL}${dataDir}/content`);
  if (url.startsWith("s3:")) return { kind: "s3", url, s3: s3Settings(reader, url) };
  if (!url.startsWith(DIRECTORY_URL)) reader.errors.push("CONTENT_URL must begin with file: or s3://");
  if (url === DIRECTORY_URL) reader.errors.push(namesNoDirectory("CONTENT_URL"));
  return { kind: "directory", url, directory: url.slice(DIRECTORY_URL.length) };
}

/** Only characters that need no escape in a path, so a signature cannot depend on how they are escaped. */
const S3_URL = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)\/?$/;

function s3Settings(reader: EnvironmentReader, contentUrl: string): S3Location {
  const [, bucket = "", path = ""] = S3_URL.exec(contentUrl) ?? [];
  if (bucket === "") {
    reader.errors.push("CONTENT_URL must be s3://<bucket> or s3://<bucket>/<prefix>, without credentials");
  }
  const region = reader.text("S3_REGION", "us-east-1");
  const endpoint = reader.url("S3_ENDPOINT", `https://s3.${region}.amazonaws.com`);
  if (endpoint.pathname !== "/" || endpoint.search !== "" || endpoint.username !== "") {
    reader.errors.push("S3_ENDPOINT must be only a scheme, a host and a port");
  }
  // Bun's client would send the token along with our own credentials, and it would expire while we run.
  for (const name of ["AWS_SESSION_TOKEN", "S3_SESSION_TOKEN"]) {
    if (reader.text(name, "") !== "") reader.errors.push(`${name} must not be set with an s3:// CONTENT_URL`);
  }
  return {
    endpoint: endpoint.origin,
    region,
    bucket,
    prefix: path === "" ? "" : `${path.slice(1)}/`,
    accessKeyId: requiredSecret(reader, "S3_ACCESS_KEY_ID"),
    secretAccessKey: requiredSecret(reader, "S3_SECRET_ACCESS_KEY"),
    ...encryption(reader),
  };
}

/** A key's id or ARN, or an alias: header-safe, and no space that a signature could trim. */
const KMS_KEY_ID = /^[\w:/.-]{1,2048}$/;

function encryption(reader: EnvironmentReader): Pick<S3Location, "serverSideEncryption" | "kmsKeyId"> {
  const serverSideEncryption = reader.parsed(
    "S3_SERVER_SIDE_ENCRYPTION",
    (text) => SERVER_SIDE_ENCRYPTIONS.find((one) => one === text) ?? null,
    SERVER_SIDE_ENCRYPTIONS.join(" or "),
  );
  const kmsKeyId = reader.parsed(
    "S3_KMS_KEY_ID",
    (text) => (KMS_KEY_ID.test(text) ? text : null),
    "the id, ARN or alias of a KMS key",
  );
  if (kmsKeyId !== null && serverSideEncryption !== "aws:kms")
    reader.errors.push("S3_KMS_KEY_ID must not be set unless S3_SERVER_SIDE_ENCRYPTION is aws:kms");
  return { serverSideEncryption, kmsKeyId };
}

function requiredSecret(reader: EnvironmentReader, name: string): string {
  const value = reader.secret(name);
  if (value === null) reader.errors.push(`${name} (or ${name}_FILE) must be set with an s3:// CONTENT_URL`);
  return value ?? "";
}

function clamavUrl(url: string): string | null {
  const isTcp = /^tcp:\/\/[^/@]+:\d+$/.test(url) && URL.canParse(url);
  return isTcp || /^unix:\/./.test(url) ? url : null;
}
