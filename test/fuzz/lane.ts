import type { Json } from "../../src/kernel/text/json.ts";
import { type Described, described, type SeenAnswer } from "../gate/documentedAnswers.ts";
import type { TestService } from "../support/tenants.ts";
import { exchange } from "./exchange.ts";
import { hints } from "./hints.ts";
import { applyOne, HOSTILITIES } from "./hostile.ts";
import { judge } from "./judge.ts";
import { MUTATIONS } from "./mutations.ts";
import { makeRandom, type Random } from "./random.ts";
import { type Draft, type FuzzRequest, type Mode, targetOf } from "./request.ts";
import type { Tally } from "./tally.ts";
import { validDraft } from "./valid.ts";
import { makeWorkspace, recordCreated, type Workspace } from "./world.ts";

/** Two tenants side by side, and one for what would disturb the others' requests. */
interface Tenants {
  peers: [Workspace, Workspace];
  secondary: Workspace;
}

export interface LaneOptions {
  readonly service: TestService;
  readonly tally: Tally;
  readonly seed: number;
  readonly lane: number;
  readonly requests: number;
  /** Whether the run may end before it has made all its requests. */
  readonly isEnough: () => boolean;
}

const VALID_SHARE = 0.5;
const NEARLY_VALID_SHARE = 0.28;
const SECONDARY_SHARE = 0.1;
/** How often a hostile request is also nearly valid. */
const BOTH_SHARE = 0.2;
/** After one of these the workspace can make no more of something: another one takes its place. */
const FULL = /^(\w+_LIMIT_REACHED|STORAGE_LIMIT_EXCEEDED)$/;

function modeOf(random: Random): Mode {
  const at = random.fraction();
  if (at < VALID_SHARE) return "valid";
  return at < VALID_SHARE + NEARLY_VALID_SHARE ? "nearly valid" : "hostile";
}

/** One sequence of requests, each after the answer to the one before: what it asks depends on its seed and the answers. */
export class Lane {
  private readonly random: Random;
  private number = 0;

  constructor(
    private readonly options: LaneOptions,
    private readonly tenants: Tenants,
  ) {
    this.random = makeRandom(options.seed * 1_000 + options.lane);
  }

  static async open(options: LaneOptions): Promise<Lane> {
    const { service } = options;
    const [one, two, secondary] = [
      await makeWorkspace(service),
      await makeWorkspace(service),
      await makeWorkspace(service),
    ];
    return new Lane(options, { peers: [one, two], secondary });
  }

  async run(): Promise<void> {
    const { requests, isEnough } = this.options;
    while (this.number < requests && !isEnough()) await this.step(this.random.pick(described));
  }

  private async step(one: Described): Promise<void> {
    const workspace = this.workspaceFor(one);
    const mode = modeOf(this.random);
    const draft = validDraft(one, workspace, this.random) ?? (await this.afterMaking(one, workspace));
    if (draft !== null) await this.send(this.mutate(draft, mode));
  }

  private workspaceFor({ name }: Described): Workspace {
    const { peers, secondary } = this.tenants;
    const isSecondary = this.random.chance(hints[name]?.isDisruptive ? 1 : SECONDARY_SHARE);
    return isSecondary ? secondary : this.random.pick(peers);
  }

  /** The draft once there is something that it can ask about; null when making that has failed. */
  private async afterMaking(one: Described, workspace: Workspace): Promise<Draft | null> {
    const creator = described.find(({ name }) => name === hints[one.name]?.needs);
    if (!creator) return null;
    const first = validDraft(creator, workspace, this.random) ?? (await this.afterMaking(creator, workspace));
    if (first === null) return null;
    await this.send(this.mutate(first, "valid"));
    return validDraft(one, workspace, this.random);
  }

  private mutate(draft: Draft, mode: Mode): FuzzRequest {
    const { random } = this;
    const [one, two] = this.tenants.peers;
    const context = { random, foreign: draft.workspace === one ? two : one };
    const descriptions: (string | null)[] = [];
    if (mode === "nearly valid" || (mode === "hostile" && random.chance(BOTH_SHARE))) {
      descriptions.push(applyOne(draft, MUTATIONS, context));
    }
    if (mode === "hostile") descriptions.push(applyOne(draft, HOSTILITIES, context));
    const what = descriptions.filter((part) => part !== null).join(", ") || "as it should be";
    return { ...draft, mode, what, target: targetOf(draft) };
  }

  private async send(request: FuzzRequest): Promise<void> {
    const { service, tally, lane } = this.options;
    this.number += 1;
    const at = { lane, number: this.number };
    let answer: SeenAnswer;
    try {
      answer = await exchange(service.url, request);
    } catch (error) {
      // Not HTTP, or not to be sent: `fetch` and the server may both hang up on it.
      const fault = { kind: "server error" as const, what: `no answer: ${String(error)}` };
      tally.add(request, null, request.isMalformed ? [] : [fault], at);
      return;
    }
    tally.add(request, answer, judge(request, answer), at);
    await this.learnFrom(request, answer);
  }

  private async learnFrom(request: FuzzRequest, { status, headers, text }: SeenAnswer): Promise<void> {
    const { one, workspace, body } = request;
    if (!/json/.test(headers.get("content-type") ?? "") || text === "") {
      if (status === 204) this.settle(request);
      return;
    }
    const json = JSON.parse(text) as Json & { readonly code?: string };
    if (FULL.test(json?.code ?? "")) await this.replace(workspace);
    if (status < 200 || status >= 300) return;
    recordCreated(workspace, one.name, json, this.random);
    if (one.name === "sendEmail" && typeof body === "string" && request.mode === "valid") {
      const sent = { key: request.headers["idempotency-key"] ?? "", body: JSON.parse(body) as Json };
      if (workspace.sent.length < 50) workspace.sent.push(sent);
      else workspace.sent[this.random.integer(0, 49)] = sent;
    }
    this.settle(request);
  }

  private settle({ one, workspace, params, method, target }: FuzzRequest): void {
    // A request that has become another one says nothing about the resource.
    if (method === one.method && target.startsWith("/")) {
      hints[one.name]?.after?.({ random: this.random, workspace }, params);
    }
  }

  private async replace(full: Workspace): Promise<void> {
    const fresh = await makeWorkspace(this.options.service);
    const { peers } = this.tenants;
    if (this.tenants.secondary === full) this.tenants.secondary = fresh;
    else peers[peers[0] === full ? 0 : 1] = fresh;
  }
}
