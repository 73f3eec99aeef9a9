import type { SMTPServer, SMTPServerOptions } from "smtp-server";

/** Sendmail's jokes, and what is for proxies that we do not have. */
export const NEVER_COMMANDS: readonly string[] = ["WIZ", "SHELL", "KILL", "XCLIENT", "XFORWARD"];

/** A certificate, followed by those of its authorities, and its key, in PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

/**
 * What a server says of itself: its name in the greeting and after EHLO (RFC 5321 §4.2, §4.1.1.1), and nothing else.
 */
export function introduction(name: string): Pick<SMTPServerOptions, "name" | "heloResponse"> {
  return { name, heloResponse: "%s" };
}

/** How a server offers TLS. */
export function tlsOptions({ cert, key }: TlsFiles): SMTPServerOptions {
  return { cert, key, minVersion: "TLSv1.2" };
}

/** Binds the port; 0 is any free one. Rejects with the system's error when it cannot be had. */
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
