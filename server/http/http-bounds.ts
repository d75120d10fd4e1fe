// The bounds of listeners for HTTP and of calls over it, each with its reason.

import type { ConnectionBounds } from "./connections.ts";
import type { Shares } from "./open-requests.ts";

/**
 * At the address for everybody: each call and each wait is a connection of its own, or one of a few of a browser. What waits costs
 * some kilobytes. Behind a proxy all callers have one address.
 */
export const CONNECTIONS: ConnectionBounds = { max: 2_000, ofNetworkMax: 1_500, few: 8 };
export const CALLS: Shares = { max: 1_000, ofCaller: 500, ofNetwork: 750 };
export const STREAMS: Shares = { max: 1_000, ofCaller: 500, ofNetwork: 750 };

/** The largest request: the largest of the contract takes some kilobytes. */
export const READ_BYTES_MAX = 65_536;

/** How often a stream of events shows that it is alive: proxies end what is silent for a minute. */
export const SIGN_OF_LIFE_MS = 10_000;

/** How long a client may take to read what was written last, which the server keeps until then. */
export const UNREAD_MS_MAX = 30_000;
/** How often that is looked at. */
export const UNREAD_CHECK_MS = 5_000;

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
