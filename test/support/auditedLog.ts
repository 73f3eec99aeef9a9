import fc from "fast-check";
import { sealContent } from "../../src/commands/emailContent.ts";
import { LogSealer } from "../../src/commands/sealLog.ts";
import { encodeData } from "../../src/kernel/codec.ts";
import { eventLeaf } from "../../src/kernel/eventLeaf.ts";
import { newId } from "../../src/kernel/ids.ts";
import { metadataOf } from "../../src/kernel/metadata.ts";
import type { SigningKey } from "../../src/kernel/signingKey.ts";
import type { EventStore, NewEvent } from "../../src/ports/eventStore.ts";
import { memoryContentStore } from "./memoryContentStore.ts";

/** What happens to a log; `at` picks one of the streams that there are. */
export type Deed =
  | { readonly kind: "send"; readonly length: number; readonly suppressed: boolean }
  | { readonly kind: "attempt" | "erase" | "retry"; readonly at: number }
  | { readonly kind: "suppress" | "forget" | "upload" | "discard" | "key" | "template"; readonly at: number }
  | { readonly kind: "reserve" | "count" }
  | { readonly kind: "seal"; readonly sealer: number };

const at = fc.nat(1_000);

/** Histories of everything that writes, erases and seals. */
export const deeds: fc.Arbitrary<readonly Deed[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant("send" as const),
        // Short, long enough to be compressed, and too long for an event.
        length: fc.oneof({ weight: 8, arbitrary: fc.nat(300) }, fc.constant(5_000), fc.constant(600_000)),
        suppressed: fc.boolean(),
      }),
    },
    { weight: 6, arbitrary: fc.record({ kind: fc.constantFrom("attempt", "erase", "retry"), at }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom("suppress", "forget", "upload", "discard", "key", "template"),
        at,
      }),
    },
    { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("reserve", "reserve", "count") }) },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant("seal" as const), sealer: fc.nat(1) }) },
  ),
  { minLength: 5, maxLength: 40, size: "max" },
);

/** A log that things happen to as they do in the service, without the service. */
export class AuditedLog {
  private readonly content = memoryContentStore();
  private readonly ids = new Map<string, string[]>();
  private readonly sends = new Map<string, readonly NewEvent[]>();
  private readonly sealers: readonly LogSealer[];
  private now = Date.parse("2026-01-01T00:00:00Z");

  constructor(
    private readonly store: EventStore,
    signingKey: SigningKey | null = null,
  ) {
    const clock = { now: () => this.now, monotonicMs: () => this.now };
    this.sealers = [0, 1].map((id) => new LogSealer({ store, clock, signingKey, actor: `worker:${id}` }));
  }

  async play(history: readonly Deed[]): Promise<void> {
    for (const deed of history) {
      this.now += 1_000;
      await this.do(deed);
    }
  }

  /** Seals all that is there. */
  async seal(sealer = 0): Promise<void> {
    const one = this.sealers[sealer] as LogSealer;
    do await one.readOn(async () => {});
    while (!(await one.seal()));
  }

  private async do(deed: Deed): Promise<void> {
    switch (deed.kind) {
      case "send":
        return this.send(deed.length, deed.suppressed);
      case "retry":
        return this.retry(deed.at);
      case "attempt":
        return this.attempt(deed.at);
      case "erase":
        return this.erase(deed.at);
      case "suppress":
        return this.begin("suppression", ["SuppressionAddressStored", "RecipientSuppressed"]);
      case "forget":
        return this.forget("suppression", "SuppressionAddressErased", deed.at, 1);
      case "upload":
        return this.begin("attachment", ["AttachmentUploaded", "AttachmentValidated"]);
      case "discard":
        return this.forget("attachment", "AttachmentErased", deed.at, 2);
      case "key":
        return this.begin("apikey", deed.at % 2 === 0 ? ["ApiKeyIssued", "ApiKeyRevoked"] : ["ApiKeyIssued"]);
      case "template":
        return this.template(deed.at * 20);
      case "reserve":
        await this.add("storage-w", ["StorageReserved"]);
        return;
      case "count":
        return this.count();
      case "seal":
        return this.seal(deed.sealer);
    }
  }

  private event(type: string, data: object): NewEvent {
    const metadata = metadataOf({ at: this.now, correlationId: newId(), actor: "test" });
    return { id: newId(), type, data, metadata };
  }

  private async add(stream: string, types: readonly string[], data: object = {}): Promise<number> {
    const last = await this.store.lastRevision(stream);
    const events = types.map((type) => this.event(type, { ...data, note: `${type} of ${stream}` }));
    await this.store.append(stream, events, last ?? "noStream");
    return (last ?? -1) + events.length;
  }

  private async begin(kind: string, types: readonly string[]): Promise<void> {
    const stream = `${kind}-${newId()}`;
    this.ids.set(kind, [...(this.ids.get(kind) ?? []), stream]);
    await this.add(stream, types);
  }

  private pick(kind: string, index: number): string | undefined {
    const streams = this.ids.get(kind) ?? [];
    return streams[index % streams.length];
  }

  private async send(length: number, suppressed: boolean): Promise<void> {
    const id = newId();
    const contentEventId = newId();
    const folder = { workspaceId: newId(), ownerId: id, folderId: contentEventId };
    const text = `${id} `.repeat(Math.ceil(length / 37));
    const content = { from: "a@example.com", to: "b@example.com", subject: "Hello", text };
    const sealed = await sealContent(this.content, folder, content);
    const accepted = { contentEventId, contentDigest: sealed.digest, contentBytes: sealed.bytes };
    const type = suppressed ? "EmailSuppressed" : "EmailQueued";
    const stored = this.event("EmailContentStored", sealed.event);
    const events = [
      { ...stored, id: contentEventId },
      { ...this.event(type, accepted), metadata: stored.metadata },
    ];
    const stream = `email-${id}`;
    this.ids.set("email", [...(this.ids.get("email") ?? []), stream]);
    this.sends.set(stream, events);
    await this.store.append(stream, events, "noStream");
  }

  private async retry(index: number): Promise<void> {
    const stream = this.pick("email", index);
    if (stream !== undefined) await this.store.append(stream, this.sends.get(stream) ?? [], "noStream");
  }

  private async attempt(index: number): Promise<void> {
    const stream = this.pick("email", index);
    if (stream !== undefined) await this.add(stream, ["EmailDeliveryStarted", "EmailDeferred"]);
  }

  private async erase(index: number): Promise<void> {
    const stream = this.pick("email", index);
    if (stream === undefined) return;
    await this.add(stream, ["EmailContentErased"]);
    await this.store.truncateBefore(stream, 1);
  }

  /** Lets go of the first `count` events of a stream, whose leaves a later one keeps. */
  private async forget(kind: string, type: string, index: number, count: number): Promise<void> {
    const stream = this.pick(kind, index);
    if (stream === undefined) return;
    const events = await this.store.read(stream, 0, count);
    const erased = events
      .filter(({ revision }) => revision < count)
      .map((event) => ({ revision: event.revision, leaf: eventLeaf(event) }));
    if (erased.length === 0) return;
    await this.add(stream, [type], { erased });
    await this.store.truncateBefore(stream, count);
  }

  private async template(length: number): Promise<void> {
    const stream = `template-${newId()}`;
    const data = { html: "x".repeat(length) };
    const event = this.event("TemplateVersionDrafted", encodeData(data, length));
    await this.store.append(stream, [this.event("TemplateCreated", {}), event], "noStream");
  }

  private async count(): Promise<void> {
    const revision = await this.add("storage-w", ["StorageCounted"]);
    await this.store.truncateBefore("storage-w", revision);
  }
}
