import type { Command } from "../program/command.ts";

/** `postledger serve`. */
export const serveCommand: Command = {
  name: "serve",
  summary: "Run the service until SIGTERM or Ctrl-C",
  description:
    "HTTP, delivery and webhooks, on HOST and PORT. The first start makes DATA_DIR; if the service is for this machine only, also a workspace, a verified sender and an API key.",
  examples: [
    "postledger serve",
    "PORT=8080 DATA_DIR=/srv/mail postledger serve # On another port, with its data elsewhere",
  ],
  dataDirectory: "made",
  needsRelay: true,
  async run({ config }) {
    // Only this command needs to load the service.
    const { runService } = await import("./runService.ts");
    await runService(config);
  },
};
