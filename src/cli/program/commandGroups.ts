import { auditCommands } from "../audit/auditCommands.ts";
import { backupCreate } from "../backup/backupCreate.ts";
import { restoreCommands } from "../backup/backupRestore.ts";
import { resumeCommands } from "../backup/resumeDelivery.ts";
import { erasureCommands } from "../erasure/erasureCommands.ts";
import { logCommands } from "../log/logExport.ts";
import { projectionCommands } from "../projection/projectionCommands.ts";
import { dashboardCommands } from "../service/dashboardCommands.ts";
import { doctor } from "../service/doctor.ts";

import { workspaceControls } from "../workspace/limitAndPauseCommands.ts";
import { apiKeyCommands, createWorkspace, senderCommands } from "../workspace/workspaceCommands.ts";
import type { Command } from "./command.ts";
import type { CommandGroup } from "./commanderProgram.ts";

const serveCommand: Command = {
  name: "serve",
  summary: "Run the service until SIGTERM or Ctrl-C",
  description:
    "HTTP, delivery and webhooks, on HOST and PORT. The first start makes DATA_DIR with a workspace, a verified sender and an API key.",
  examples: [
    "postledger serve",
    "PORT=8080 DATA_DIR=/srv/mail postledger serve # On another port, with its data in another place",
  ],
  dataDirectory: "made",
  async run({ config }) {
    const { serve } = await import("../service/serve.ts");
    await serve(config);
    return 0;
  },
};

const RUN = "Run it:";
const USE = "Let it be used:";
const KEEP = "Keep and check it:";

/** Every command, in the order in which they are shown. */
export const commandGroups: readonly CommandGroup[] = [
  { noun: "serve", heading: RUN, summary: serveCommand.summary, commands: [serveCommand] },
  { noun: "doctor", heading: RUN, summary: "", commands: [doctor] },
  {
    noun: "dashboard",
    heading: RUN,
    summary: "See in a browser what the service does: links that log in",
    commands: dashboardCommands,
  },
  {
    noun: "workspace",
    heading: USE,
    summary: "Tenants: create, list, limit, pause and resume them",
    commands: [createWorkspace, ...workspaceControls],
  },
  {
    noun: "sender",
    heading: USE,
    summary: "Addresses and domains that a workspace sends from",
    commands: senderCommands,
  },
  {
    noun: "api-key",
    heading: USE,
    summary: "Keys that applications call the API with",
    commands: apiKeyCommands,
  },
  {
    noun: "delivery",
    heading: USE,
    summary: "Mail that waits: let it go on",
    commands: resumeCommands,
  },
  {
    noun: "erasure",
    heading: USE,
    summary: "Erase everything of a person",
    commands: erasureCommands,
  },
  {
    noun: "projection",
    heading: KEEP,
    summary: "Read models: list, rebuild and verify them, or see them as they were",
    commands: projectionCommands,
  },
  {
    noun: "audit",
    heading: KEEP,
    summary: "Whether the log is what it was: seals and their verification",
    commands: auditCommands,
  },
  {
    noun: "log",
    heading: KEEP,
    summary: "Move the log to another machine or another store",
    commands: logCommands,
  },
  {
    noun: "backup",
    heading: KEEP,
    summary: "Copy log and content, check a copy, bring it back",
    commands: [backupCreate, ...restoreCommands],
  },
];
