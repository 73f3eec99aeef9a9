import type { SMTPServer, SMTPServerOptions } from "smtp-server";

/** A certificate with those of its authorities after it, and its key, in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/** The oldest version of TLS that a client may use. */
const TLS_VERSION_MIN = "TLSv1.2";

export function tlsOptions({ cert, key }: TlsFiles): SMTPServerOptions {
  return { cert, key, minVersion: TLS_VERSION_MIN };
}

/** Asked at each new connection: the pair it is the first to get, or null if that has not changed. */
export type RenewedTlsFiles = () => TlsFiles | null;

/** Lets new connections use a renewed certificate. Open ones keep theirs. */
export function applyRenewed(server: SMTPServer, renewed: RenewedTlsFiles): void {
  // Before the library's own listener, which begins the handshake.
  server.server.prependListener("connection", () => {
    const files = renewed();
    if (files !== null) server.updateSecureContext(tlsOptions(files));
  });
}
