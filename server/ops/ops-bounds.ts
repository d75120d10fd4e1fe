// The bounds of the port for operators, each with its reason. Whoever reaches the port may connect, without a token.

/** Scrapers and probes are few, and the page takes few browsers; more connections are a mistake or an attack. */
export const CONNECTIONS_MAX = 200;

/** From one network: half, because a proxy or a tunnel in front of all browsers is one address, too. */
export const CONNECTIONS_OF_NETWORK_MAX = 100;

/** A browser opens six connections: a network with so few is never closed before others for their number. */
export const CONNECTIONS_FEW = 8;

/** Beyond as many connections, browsers lose theirs after each answer. */
export const CROWDED_CONNECTIONS = 100;

/** On one connection at once: browsers and scrapers wait for the answer, which they may read before the server knows. */
export const REQUESTS_AT_ONCE_MAX = 2;

/** How long a handshake of TLS, the head of a request or the pause between two requests may take. */
export const IDLE_MS_MAX = 5_000;

/** How long a whole request may take: 64 KiB arrive within that, even from a slow phone. */
export const REQUEST_MS_MAX = 10_000;

/** How often the server looks for requests that are late. */
export const LATE_CHECK_MS = 1_000;

/** How long an answered request may go on to arrive: a client that still sends its body reads the answer after that. */
export const LINGER_MS = 1_000;

/** How long a client may take to read an answer, which the server keeps until then. */
export const READ_MS_MAX = 30_000;
