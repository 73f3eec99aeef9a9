import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import type { DashboardLinkAnswer } from "../../service/dashboardLink.ts";
import { type Command, CommandFailure } from "../program/command.ts";
import { requireRegularFiles } from "../program/requireRegularFiles.ts";
import { askRunningService } from "../service/askRunningService.ts";
import { noWorkspace, severalWorkspaces, unknownWorkspace } from "../workspace/workspaceOption.ts";

const ASK_MS_MAX = 15_000;

export const dashboardLinkCommand: Command = {
  name: "dashboard link",
  summary: "Print a link that logs in to the dashboard, once",
  description:
    "The link works for 15 minutes, and its session for 7 days at most. Whoever opens it may do everything in its workspace: give it to nobody. The service must run on this DATA_DIR.",
  options: [
    {
      name: "workspace",
      value: "<id>",
      help: "id or name of the workspace it opens: see `workspace list` (default: the only one)",
    },
  ],
  // It only reads the service's address from DATA_DIR.
  dataDirectory: "unused",
  examples: ["postledger dashboard link", "postledger dashboard link --workspace <id>"],
  async run({ config, option, print }) {
    requireRegularFiles(config);
    const answer = await ask(config.dataDir, option("workspace"));
    if (answer.kind === "unknownWorkspace") throw unknownWorkspace(option("workspace") ?? "");
    if (answer.kind === "noWorkspace") throw noWorkspace();
    if (answer.kind === "several") throw severalWorkspaces(answer.workspaces, "add --workspace <id>");
    const { url, workspaceName, workspaceId, expiresAt } = answer;
    const value = { url, workspace_id: workspaceId, expires_at: expiresAt };
    print(value, [url, "", `It opens the workspace ${workspaceName}, once, until ${expiresAt}.`]);
  },
};

async function ask(dataDir: string, workspaceId: string | undefined): Promise<DashboardLinkAnswer> {
  const query = workspaceId === undefined ? "" : (`?workspace=${encodeURIComponent(workspaceId)}` as const);
  const asked = await askRunningService(dataDir, `/dashboard-link${query}`, ASK_MS_MAX);
  if (asked.kind === "answered") return asked.body as DashboardLinkAnswer;
  if (asked.kind === "none") {
    throw new CommandFailure("refused", `no service runs on ${dataDir}`, `start it: \`${POSTLEDGER} serve\``);
  }
  throw new CommandFailure("refused", `the service on ${dataDir} does not answer`, "try again in a moment");
}
