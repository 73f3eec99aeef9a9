import { issueKey } from "../../commands/workspace/manageWorkspace.ts";
import { isScope, SCOPES, type Scope } from "../../domain/apiKey/scopes.ts";
import { nearestName } from "../../kernel/text/nearestName.ts";
import { epochMs } from "../../kernel/time.ts";
import { systemCommandContext } from "../../service/systemCommandContext.ts";
import { type Command, notFound, UsageError } from "../program/command.ts";
import { withLog } from "../program/openStoreForCommand.ts";
import { WORKSPACE_OPTION } from "../workspace/workspaceOption.ts";

function scopesOf(text: string | undefined): readonly Scope[] {
  if (text === undefined) return SCOPES;
  return text.split(",").map((part) => {
    const scope = part.trim();
    if (isScope(scope)) return scope;
    const meant = nearestName(scope, SCOPES);
    const hint = meant === null ? "" : ` Did you mean ${meant}?`;
    throw new UsageError(`${scope} is no scope.${hint} There are ${SCOPES.join(", ")}`);
  });
}

function expiryOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  const at = epochMs(text);
  if (Number.isNaN(at))
    throw new UsageError("--expires takes an RFC 3339 time, such as 2027-01-01T00:00:00Z");
  return at;
}

export const apiKeyCreate: Command = {
  name: "api-key create",
  summary: "Issue an API key and print it, once",
  options: [
    WORKSPACE_OPTION,
    { name: "name", value: "<text>", help: "what it is for (default: unnamed)" },
    {
      name: "scopes",
      value: "<list>",
      help: `what it may do, with commas between: ${SCOPES.join(", ")} (default: all of them)`,
    },
    {
      name: "expires",
      value: "<time>",
      help: "when it ends, RFC 3339 such as 2027-01-01T00:00:00Z (default: never)",
    },
  ],
  description: "It is shown this once: the log keeps a keyed hash of it.",
  examples: ["postledger api-key create --workspace <id> --scopes email:send,email:read"],
  async run(invocation) {
    const issue = {
      workspaceId: invocation.required("workspace"),
      name: invocation.option("name") ?? "unnamed",
      scopes: scopesOf(invocation.option("scopes")),
      expiresAt: expiryOf(invocation.option("expires")),
    };
    const issued = await withLog(invocation.config, ({ deps }) =>
      issueKey(deps, issue, systemCommandContext("cli")),
    );
    if (issued === null) notFound(`there is no workspace ${issue.workspaceId}`);
    invocation.print(issued, [issued.key]);
    return 0;
  },
};
