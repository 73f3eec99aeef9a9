import type { Json } from "../../src/kernel/text/json.ts";
import type { Described } from "../gate/documentedAnswers.ts";
import { hints, unknownParams } from "./hints.ts";
import type { Random } from "./random.ts";
import type { Draft } from "./request.ts";
import { valueFor } from "./values.ts";
import type { Workspace } from "./world.ts";

const REPEAT_SHARE = 0.05;
const BOUNDARY = "----postledger-fuzz";

let keys = 0;

/** A key that no other request of this process has. */
function freshKey(): string {
  keys += 1;
  return `fuzz-key-${String(keys).padStart(9, "0")}`;
}

function query({ operation }: Described, workspace: Workspace, random: Random): [string, string][] {
  const cursors = workspace.cursors.get(operation.operationId) ?? [];
  return (operation.parameters ?? [])
    .filter(({ in: place }) => place === "query")
    .flatMap(({ name, required, schema }): [string, string][] => {
      if (name === "cursor")
        return cursors.length > 0 && random.chance(0.3) ? [[name, random.pick(cursors)]] : [];
      if (!required && !random.chance(0.3)) return [];
      const isFree = schema.enum === undefined && schema.pattern === undefined && !required;
      return isFree ? [] : [[name, String(valueFor(schema, random, workspace))]];
    });
}

function multipart(file: { readonly name: string; readonly type: string; readonly text: string }): string {
  const head = `Content-Disposition: form-data; name="file"; filename="${file.name}"\r\nContent-Type: ${file.type}`;
  return `--${BOUNDARY}\r\n${head}\r\n\r\n${file.text}\r\n--${BOUNDARY}--\r\n`;
}

function jsonBody(one: Described, workspace: Workspace, random: Random): Json | undefined {
  const schema = one.operation.requestBody?.content["application/json"]?.schema;
  const hint = hints[one.name];
  if (schema === undefined) return undefined;
  return hint?.body ? hint.body({ random, workspace }) : valueFor(schema, random, workspace);
}

/** A request that should succeed; null while the workspace has nothing that the operation could be asked about. */
export function validDraft(one: Described, workspace: Workspace, random: Random): Draft | null {
  const hint = hints[one.name];
  const context = { random, workspace };
  const params = hint?.params === undefined ? unknownParams(one.path, random) : hint.params(context);
  if (params === null) return null;
  const draft: Draft = {
    one,
    workspace,
    method: one.method,
    params: { ...params },
    query: hint?.query ? Object.entries(hint.query(context)) : query(one, workspace, random),
    headers: {},
    body: null,
    isForeign: false,
    isRaw: false,
    isMalformed: false,
  };
  if (one.operation.security.length > 0) draft.headers.authorization = `Bearer ${workspace.tenant.apiKey}`;
  addBody(draft, random);
  return draft;
}

function addBody(draft: Draft, random: Random): void {
  const { one, workspace } = draft;
  const hint = hints[one.name];
  const forms = one.operation.requestBody?.content;
  const needsKey = one.operation.parameters?.some(({ name }) => name === "Idempotency-Key") ?? false;
  if (needsKey) draft.headers["idempotency-key"] = freshKey();
  if (forms?.["multipart/form-data"] && hint?.file && random.chance(0.5)) {
    draft.headers["content-type"] = `multipart/form-data; boundary=${BOUNDARY}`;
    draft.body = multipart(hint.file({ random, workspace }));
    return;
  }
  const json = jsonBody(one, workspace, random);
  if (json === undefined) return;
  draft.headers["content-type"] = "application/json";
  draft.body = JSON.stringify(json);
  if (!needsKey) return;
  if (workspace.sent.length > 0 && random.chance(REPEAT_SHARE)) {
    const first = random.pick(workspace.sent);
    draft.headers["idempotency-key"] = first.key;
    draft.body = JSON.stringify(first.body);
  }
}
