import type { SMTPServer, SMTPServerOptions } from "smtp-server";
import { type TlsFiles, tlsOptions } from "./tlsOptions.ts";

/** Sendmail's joke commands, and commands for proxies, which we do not have. */
export const NEVER_COMMANDS: readonly string[] = ["WIZ", "SHELL", "KILL", "XCLIENT", "XFORWARD"];

/** How long clients get for their last reply when a server stops, in ms. */
export const LAST_REPLY_MS_MAX = 500;
export const STOPPING: LastReply = { code: 421, text: "4.3.2 the service is shutting down: try again" };

interface LastReply {
  readonly code: number;
  readonly text: string;
}

/** The private parts of the library's connection that we need: it has no other way to end one with a reply. */
interface ServedConnection {
  readonly id: string;
  send(code: number, text: string): void;
  close(): void;
}

/** What both servers have in common. */
export function sharedServerOptions(name: string, tls: TlsFiles | null): SMTPServerOptions {
  return {
    // Servers introduce themselves only by their name in the greeting and after EHLO (RFC 5321 §4.2, §4.1.1.1).
    name,
    heloResponse: "%s",
    ...(tls === null ? {} : tlsOptions(tls)),
    disableReverseLookup: true,
    // Otherwise the library puts its own enhanced codes before ours.
    hideENHANCEDSTATUSCODES: true,
    logger: false,
  };
}

/** Binds the port; 0 means any free one. Rejects with the system's error if it cannot. */
export function listen(
  server: SMTPServer,
  { host, port }: { readonly host: string; readonly port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.server.once("error", reject);
    server.listen(port, host, () => {
      server.server.off("error", reject);
      resolve();
    });
  });
}

/** Ends a session, if it is still there, with a last reply. */
export function endSession(server: SMTPServer, id: string, { code, text }: LastReply): void {
  for (const connection of server.connections as ReadonlySet<ServedConnection>) {
    if (connection.id !== id) continue;
    connection.send(code, text);
    connection.close();
  }
}

/** A refusal in the library's form. */
export function replyError({ code, text }: LastReply): Error {
  return Object.assign(new Error(text), { responseCode: code });
}
