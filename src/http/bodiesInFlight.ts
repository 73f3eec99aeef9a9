/** A body up to this size, in bytes, is small: room is kept for such ones beside the large. */
const SMALL_BYTES_MAX = 65_536;
const SHARE_OF_SMALL = 1 / 8;
const RETRY_AFTER_SECONDS_MAX = 4;

/** The least bound under which one body of 16,000,000 bytes has room beside the share of the small ones. */
export const BODY_BYTES_IN_FLIGHT_MIN = 20_000_000;

/**
 * The bytes of bodies that are being read or worked on, bounded: base64 files multiply in memory on their way
 * through. Large bodies leave a share to the small ones, which thus never starve.
 */
export class BodiesInFlight {
  private small = 0;
  private large = 0;
  private refused = 0;

  constructor(private readonly bytesMax: number) {}

  /** Makes room for `bytes` more of a body of which `before` were admitted already; false when there is none. */
  admit(before: number, bytes: number): boolean {
    const after = before + bytes;
    if (this.small + this.large + bytes > this.bytesMax) return false;
    if (after <= SMALL_BYTES_MAX) {
      this.small += bytes;
      return true;
    }
    // A body that turns out to be large counts as a whole among the large.
    const isGrown = before > SMALL_BYTES_MAX;
    const added = isGrown ? bytes : after;
    if (this.large + added > this.bytesMax * (1 - SHARE_OF_SMALL)) return false;
    this.large += added;
    if (!isGrown) this.small -= before;
    return true;
  }

  /** When who found no room may come again, in seconds: in turn 1 to 4, so that not all come back together. */
  retryAfterSeconds(): number {
    this.refused = (this.refused + 1) % RETRY_AFTER_SECONDS_MAX;
    return this.refused + 1;
  }

  /** Takes back all that was admitted of a body. */
  release(bytes: number): void {
    if (bytes <= SMALL_BYTES_MAX) this.small -= bytes;
    else this.large -= bytes;
  }
}
