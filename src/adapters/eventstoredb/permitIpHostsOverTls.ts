import { isIP } from "node:net";
import { credentials } from "@grpc/grpc-js";

/** gRPC's private type for how it connects to a channel's target. */
interface SecureConnector {
  readonly connectionOptions?: { servername?: string };
}
interface SecureCredentials {
  _createSecureConnector(...options: unknown[]): SecureConnector;
}

let isDone = false;

/**
 * Makes IP addresses usable as hosts over TLS, in this process. gRPC sends the host name in the handshake (SNI), where
 * addresses are not allowed (RFC 6066, section 3): Node ignores it, Bun refuses to connect. This omits the name for
 * addresses; the certificate is still checked against the address. It patches gRPC itself, because the vendor's client
 * creates its credentials and accepts none of ours. Idempotent.
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
