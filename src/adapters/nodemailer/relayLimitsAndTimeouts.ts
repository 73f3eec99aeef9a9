/** Limits on the use of one relay: connections, messages, and how long to wait for what. */
export interface RelayLimits {
  /** Connections open at once, idle ones included. */
  readonly connectionsMax: number;
  readonly messagesPerConnectionMax: number;
  /** Messages in any one second, over all connections. 0 = no limit. */
  readonly messagesPerSecondMax: number;
  /** How long to keep a connection without a message before QUIT. */
  readonly idleMs: number;
  /** How long all of connecting may take: name look-up, TCP, greeting, TLS. */
  readonly connectTimeoutMs: number;
  /** How long to wait for the greeting, within `connectTimeoutMs`. */
  readonly greetingTimeoutMs: number;
  /**
   * How long a connection may take until it is ready for mail: all of the above, EHLO and AUTH. The other limits are for
   * silence alone: a relay that sends a line now and then would keep a worker for ever.
   */
  readonly setupTimeoutMs: number;
  /** How long the relay may be silent after any command but the final dot. */
  readonly commandTimeoutMs: number;
  /**
   * How long the relay may be silent once the content is being sent. RFC 5321 §4.5.3.2.6 asks for ten minutes, because
   * a relay that answers after we gave up has the message, and a retry sends a duplicate. The deadline of a send may be
   * sooner.
   */
  readonly finalReplyTimeoutMs: number;
}

/** The ranges of the limits that an operator sets, for all relays or in the URL of one. */
export const RELAY_LIMIT_RANGES = {
  connectionsMax: { min: 1, max: 1_000 },
  messagesPerSecondMax: { min: 0, max: 100_000 },
} as const;

export const RELAY_LIMITS_DEFAULT: RelayLimits = {
  connectionsMax: 5,
  messagesPerConnectionMax: 100,
  messagesPerSecondMax: 0,
  idleMs: 30_000,
  connectTimeoutMs: 10_000,
  greetingTimeoutMs: 10_000,
  setupTimeoutMs: 60_000,
  commandTimeoutMs: 30_000,
  finalReplyTimeoutMs: 600_000,
};
