import type { SMTPServer, SMTPServerOptions } from "smtp-server";

/** Sendmail's joke commands, and commands for proxies, which we do not have. */
export const NEVER_COMMANDS: readonly string[] = ["WIZ", "SHELL", "KILL", "XCLIENT", "XFORWARD"];

/**
 * How a server introduces itself: only by its name in the greeting and after EHLO (RFC 5321 §4.2, §4.1.1.1).
 */
export function introduction(name: string): Pick<SMTPServerOptions, "name" | "heloResponse"> {
  return { name, heloResponse: "%s" };
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
