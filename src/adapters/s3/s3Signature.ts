import { sha256Of } from "../../kernel/crypto/sha256.ts";

const ALGORITHM = "AWS4-HMAC-SHA256";

/** Where to, and with which keys. */
export interface S3Access {
  /** `https://host[:port]`. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** What to sign: a request for a path of the endpoint, with parameters. */
interface SignedRequest {
  readonly method: string;
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** The headers that the request must have, with lower-case names. S3 refuses an `x-amz-` header that is not signed. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly at: Date;
  /** How long the URL is valid. */
  readonly expiresSeconds: number;
}

/**
 * A URL that grants one request (AWS Signature Version 4 in the query). Bun's client signs URLs of objects only, and no
 * headers.
 */
export function signedUrl(
  { endpoint, region, accessKeyId, secretAccessKey }: S3Access,
  { method, path, parameters, headers = {}, at, expiresSeconds }: SignedRequest,
): string {
  const { host, origin } = new URL(endpoint);
  const time = at.toISOString().replace(/[-:]|\.\d{3}/g, "");
  const day = time.slice(0, "YYYYMMDD".length);
  const scope = `${day}/${region}/s3/aws4_request`;
  const signed = Object.entries({ host, ...headers }).sort(([one], [other]) => (one < other ? -1 : 1));
  const signedNames = signed.map(([name]) => name).join(";");
  const query = Object.entries({
    ...parameters,
    "X-Amz-Algorithm": ALGORITHM,
    "X-Amz-Credential": `${accessKeyId}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(expiresSeconds),
    "X-Amz-SignedHeaders": signedNames,
  })
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const escapedPath = path.split("/").map(encoded).join("/");
  const lines = signed.map(([name, value]) => `${name}:${value}`);
  const request = [method, escapedPath, query, ...lines, "", signedNames, "UNSIGNED-PAYLOAD"].join("\n");
  const digest = sha256Of(request);
  const key = [day, region, "s3", "aws4_request"].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${secretAccessKey}`,
  );
  const signature = hmac(key, [ALGORITHM, time, scope, digest].join("\n")).toString("hex");
  return `${origin}${escapedPath}?${query}&X-Amz-Signature=${signature}`;
}

function hmac(key: string | Buffer, text: string): Buffer {
  return new Bun.CryptoHasher("sha256", key).update(text).digest();
}

/** Percent-encoded as RFC 3986 says: `encodeURIComponent` leaves five more characters as they are. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
