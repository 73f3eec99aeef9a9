import type { Option } from "../program/command.ts";

export const WORKSPACE_OPTION: Option = {
  name: "workspace",
  value: "<id>",
  help: "id of the workspace it belongs to: see `workspace list`",
  isRequired: true,
};
