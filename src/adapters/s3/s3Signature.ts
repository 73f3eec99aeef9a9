const ALGORITHM = "AWS4-HMAC-SHA256";

/** Where to, and with which keys. */
interface S3Access {
  /** `https://host[:port]`. */
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/** What to sign: a `GET` of a path of the endpoint, with parameters. */
interface SignedGet {
  readonly path: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly at: Date;
  /** How long the URL is valid. */
  readonly expiresSeconds: number;
}

/**
 * A URL that grants one `GET` (AWS Signature Version 4 in the query). Bun's client signs URLs of objects only, and its
 * own list reads an answer into memory however long it is.
 */
export function signedGetUrl(
  { endpoint, region, accessKeyId, secretAccessKey }: S3Access,
  { path, parameters, at, expiresSeconds }: SignedGet,
): string {
  const { host, origin } = new URL(endpoint);
  const time = at.toISOString().replace(/[-:]|\.\d{3}/g, "");
  const day = time.slice(0, "YYYYMMDD".length);
  const scope = `${day}/${region}/s3/aws4_request`;
  const query = Object.entries({
    ...parameters,
    "X-Amz-Algorithm": ALGORITHM,
    "X-Amz-Credential": `${accessKeyId}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(expiresSeconds),
    "X-Amz-SignedHeaders": "host",
  })
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const escapedPath = path.split("/").map(encoded).join("/");
  const request = ["GET", escapedPath, query, `host:${host}`, "", "host", "UNSIGNED-PAYLOAD"].join("\n");
  const digest = new Bun.CryptoHasher("sha256").update(request).digest("hex");
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
