import type { SMTPServerOptions } from "smtp-server";

/** A certificate with those of its authorities after it, and its key, in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** The oldest version of TLS that a client may use. */
const TLS_VERSION_MIN = "TLSv1.2";

/** How a server offers TLS. */
export function tlsOptions({ cert, key }: TlsFiles): SMTPServerOptions {
  return { cert, key, minVersion: TLS_VERSION_MIN };
}
