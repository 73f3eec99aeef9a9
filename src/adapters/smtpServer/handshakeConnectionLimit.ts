import type { Server, Socket } from "node:net";
import type { SMTPServer, SMTPServerSession } from "smtp-server";
import { addressGroup } from "../../kernel/network/clientIp.ts";

/**
 * Limits each client's connections without a session yet: those in a TLS handshake, or in the moment in which the
 * library listens for clients that talk too soon. The library only counts them for all clients together, so one client
 * that opens many and says nothing would keep out the others.
 */
export class HandshakeConnectionLimit {
  /** The client's group by connection. */
  private readonly groups = new Map<string, string>();

  /** Create it before the server listens. A client's connections beyond `perClientMax` are closed without a reply. */
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

  /** Call it when a session has begun, or was refused with a reply. */
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
