import type { Server, Socket } from "node:net";
import type { SMTPServer, SMTPServerSession } from "smtp-server";
import { addressGroup } from "../../kernel/network/clientIp.ts";

/**
 * Counts the connections of each client that are no session yet: they wait for a TLS handshake, or for the moment in
 * which the library listens for clients that talk too soon. The library counts them for all clients together, so one
 * that opens many and says nothing would keep out the others.
 */
export class UnbegunConnections {
  /** The client's group, by the connection. */
  private readonly groups = new Map<string, string>();

  /** To be made before the server listens. What one client opens beyond `perClientMax` is closed without a word. */
  constructor(
    server: SMTPServer,
    private readonly perClientMax: number,
  ) {
    const net: Server = server.server;
    const accept = net.listeners("connection");
    net.removeAllListeners("connection");
    net.on("connection", (socket: Socket) => {
      if (this.admits(socket)) for (const one of accept) one.call(net, socket);
      else socket.destroy();
    });
  }

  /** A session has begun, or was refused with a reply. */
  begun(session: SMTPServerSession): void {
    this.groups.delete(nameOf(session));
  }

  private admits(socket: Socket): boolean {
    const group = addressGroup(socket.remoteAddress ?? "");
    const others = [...this.groups.values()].filter((one) => one === group);
    if (others.length >= this.perClientMax) return false;
    const name = nameOf(socket);
    this.groups.set(name, group);
    socket.once("close", () => this.groups.delete(name));
    return true;
  }
}

function nameOf({ remoteAddress, remotePort }: Pick<Socket, "remoteAddress" | "remotePort">): string {
  return `${remoteAddress} ${remotePort}`;
}
