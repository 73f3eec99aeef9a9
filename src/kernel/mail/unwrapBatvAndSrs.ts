/** A mail may pass several servers that wrap its sender. */
const WRAPPINGS_MAX = 4;
/** `prvs=tag=local@domain` (draft-levine-smtp-batv §5), and Barracuda's `btv1==tag==local@domain`. */
const BATV = /^(?:prvs=[^=@]+=|btv1==[^=@]+==)/i;
/** `SRS0=hash=day=domain=local@forwarder`; after another one `SRS1=hash=forwarder==hash=day=domain=local@another`. */
const SRS = /^(?:srs0|srs1[=+-][^=@]+=[^=@]+=)[=+-][^=@]+=[^=@]+=(?<domain>[^=@]+)=(?<local>[^@]+)@[^@]*$/i;

/**
 * An envelope sender as its own server wrote it: servers on the way may sign it (BATV), or put it into an address of
 * theirs so that SPF does not fail (SRS). Anyone can write such a wrapping, so the address inside must prove itself.
 */
export function unwrapBatvAndSrs(address: string): string {
  let inner = address;
  for (let left = WRAPPINGS_MAX; left > 0; left -= 1) {
    inner = inner.replace(BATV, "").replace(SRS, "$<local>@$<domain>");
  }
  return inner;
}
