import { isIP } from "node:net";
import { credentials } from "@grpc/grpc-js";

/** What gRPC's credentials make of a channel's target, and keep to themselves. */
interface SecureConnector {
  readonly connectionOptions?: { servername?: string };
}
interface SecureCredentials {
  _createSecureConnector(...options: unknown[]): SecureConnector;
}

let isDone = false;

/**
 * Makes IP addresses usable as hosts over TLS, in this process. gRPC names the host in the handshake (SNI), where an
 * address has no place (RFC 6066, section 3): Node ignores it, Bun refuses to connect. Nothing is named then; the
 * certificate is checked against the address all the same. The vendor's client makes its credentials itself and takes
 * none of ours, which is why this reaches for gRPC's own. Idempotent.
 */
export function permitIpHostsOverTls(): void {
  if (isDone) return;
  isDone = true;
  const prototype = Object.getPrototypeOf(credentials.createSsl()) as SecureCredentials;
  const create = prototype._createSecureConnector;
  prototype._createSecureConnector = function withoutAddressAsName(...options) {
    const connector = create.apply(this, options);
    const named = connector.connectionOptions;
    if (named?.servername !== undefined && isIP(named.servername) !== 0) named.servername = "";
    return connector;
  };
}
