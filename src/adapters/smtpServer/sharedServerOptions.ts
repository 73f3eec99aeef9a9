import type { SMTPServer, SMTPServerOptions } from "smtp-server";
import { type TlsFiles, tlsOptions } from "./tlsOptions.ts";

/** Sendmail's joke commands, and commands for proxies, which we do not have. */
export const NEVER_COMMANDS: readonly string[] = ["WIZ", "SHELL", "KILL", "XCLIENT", "XFORWARD"];

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

/** A refusal in the library's form. */
export function replyError({ code, text }: { readonly code: number; readonly text: string }): Error {
  return Object.assign(new Error(text), { responseCode: code });
}
