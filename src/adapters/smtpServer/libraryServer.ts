import type { SMTPServer } from "smtp-server";

/** Sendmail's jokes, and what is for proxies that we do not have. */
export const NEVER_COMMANDS: readonly string[] = ["WIZ", "SHELL", "KILL", "XCLIENT", "XFORWARD"];

/** Takes the port; 0 is any free one. Rejects with the system's error when it cannot be had. */
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

/** A refusal as the library takes it. */
export function replyError({ code, text }: { readonly code: number; readonly text: string }): Error {
  return Object.assign(new Error(text), { responseCode: code });
}
