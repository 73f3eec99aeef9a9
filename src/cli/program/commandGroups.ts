import { apiKeyCreate } from "../apiKey/apiKeyCreate.ts";
import { apiKeyList } from "../apiKey/apiKeyList.ts";
import { apiKeyRename } from "../apiKey/apiKeyRename.ts";
import { apiKeyRevoke, apiKeyRotate } from "../apiKey/apiKeyRevokeAndRotate.ts";
import { auditKeygen } from "../audit/auditKeygen.ts";
import { auditLogCommand } from "../audit/auditLogCommand.ts";
import { auditSeal } from "../audit/auditSeal.ts";
import { auditVerify } from "../audit/auditVerify.ts";
import { backupCreate } from "../backup/backupCreate.ts";
import { backupFollow } from "../backup/backupFollow.ts";
import { backupRestore } from "../backup/backupRestore.ts";
import { backupVerify } from "../backup/backupVerify.ts";
import { dashboardLinkCommand } from "../dashboard/dashboardLinkCommand.ts";
import { deliveryResume } from "../delivery/deliveryResume.ts";
import { emailShow } from "../email/emailShow.ts";
import { emailTryNow } from "../email/emailTryNow.ts";
import { erasureList, erasureRequest, erasureShow } from "../erasure/erasureCommands.ts";
import { logExport } from "../log/logExport.ts";
import { logImport } from "../log/logImport.ts";
import { logUnfreeze } from "../log/logUnfreeze.ts";
import { projectionAsOf } from "../projection/projectionAsOf.ts";
import { projectionDiff } from "../projection/projectionDiff.ts";
import { projectionList } from "../projection/projectionList.ts";
import { projectionRebuild } from "../projection/projectionRebuild.ts";
import { projectionVerify } from "../projection/projectionVerify.ts";
import { senderAdd } from "../sender/senderAdd.ts";
import { senderCheck } from "../sender/senderCheck.ts";
import { senderDisable, senderEnable } from "../sender/senderDisableAndEnable.ts";
import { senderList } from "../sender/senderList.ts";
import { senderRename } from "../sender/senderRename.ts";
import { senderVerify } from "../sender/senderVerify.ts";
import { doctor } from "../service/doctor.ts";
import { serveCommand } from "../service/serveCommand.ts";
import { versionCommand } from "../service/versionCommand.ts";
import { suppressionAdd, suppressionList, suppressionRemove } from "../suppression/suppressionCommands.ts";
import { suppressionImport } from "../suppression/suppressionImport.ts";
import { templatePull } from "../template/templatePull.ts";
import { templatePush } from "../template/templatePush.ts";
import { workspaceCreate, workspaceList } from "../workspace/workspaceCreateAndList.ts";
import { workspaceLimits } from "../workspace/workspaceLimits.ts";
import { workspacePause, workspaceResume } from "../workspace/workspacePauseAndResume.ts";
import { workspaceRename } from "../workspace/workspaceRename.ts";
import type { CommandGroup } from "./commanderProgram.ts";

const RUN = "Run it:";
const USE = "Use it:";
const KEEP = "Maintain it:";

/** All commands, in the order in which they are shown. */
export const commandGroups: readonly CommandGroup[] = [
  { noun: "serve", heading: RUN, summary: serveCommand.summary, commands: [serveCommand] },
  { noun: "doctor", heading: RUN, summary: "", commands: [doctor] },
  {
    noun: "dashboard",
    heading: RUN,
    summary: "Links that log in to the dashboard",
    commands: [dashboardLinkCommand],
  },
  { noun: "version", heading: RUN, summary: "", commands: [versionCommand] },
  {
    noun: "workspace",
    heading: USE,
    summary: "Tenants: create, list, rename, limit, pause and resume them",
    commands: [
      workspaceCreate,
      workspaceList,
      workspaceRename,
      workspacePause,
      workspaceResume,
      workspaceLimits,
    ],
  },
  {
    noun: "sender",
    heading: USE,
    summary: "Addresses and domains that a workspace sends from",
    commands: [senderAdd, senderVerify, senderCheck, senderList, senderRename, senderDisable, senderEnable],
  },
  {
    noun: "api-key",
    heading: USE,
    summary: "Keys that applications call the API with",
    commands: [apiKeyCreate, apiKeyList, apiKeyRename, apiKeyRotate, apiKeyRevoke],
  },
  {
    noun: "suppression",
    heading: USE,
    summary: "Addresses that get no mail",
    commands: [suppressionAdd, suppressionRemove, suppressionList, suppressionImport],
  },
  {
    noun: "template",
    heading: USE,
    summary: "Templates that are kept as files, in version control",
    commands: [templatePush, templatePull],
  },
  {
    noun: "email",
    heading: USE,
    summary: "What happened to a message, and trying it now",
    commands: [emailShow, emailTryNow],
  },
  {
    noun: "delivery",
    heading: USE,
    summary: "Mail that is held or deferred",
    commands: [deliveryResume],
  },
  {
    noun: "erasure",
    heading: USE,
    summary: "Erase everything about a person",
    commands: [erasureRequest, erasureShow, erasureList],
  },
  {
    noun: "projection",
    heading: KEEP,
    summary: "Read models: list, rebuild and verify them, or see them as they were",
    commands: [projectionList, projectionRebuild, projectionVerify, projectionAsOf, projectionDiff],
  },
  {
    noun: "audit",
    heading: KEEP,
    summary: "Who did what; seals, and whether the log was altered",
    commands: [auditLogCommand, auditKeygen, auditSeal, auditVerify],
  },
  {
    noun: "log",
    heading: KEEP,
    summary: "Move the log to another machine or another store",
    commands: [logExport, logImport, logUnfreeze],
  },
  {
    noun: "backup",
    heading: KEEP,
    summary: "Copy log and content, keep a copy up to date, check a copy, restore it",
    commands: [backupCreate, backupFollow, backupRestore, backupVerify],
  },
];
