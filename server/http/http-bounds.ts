// The bounds of calls over HTTP, each with its reason.

/** The largest request: the largest of the contract takes some kilobytes. */
export const READ_BYTES_MAX = 65_536;

/** How often a stream of events shows that it is alive: proxies end what is silent for a minute. */
export const SIGN_OF_LIFE_MS = 10_000;

/** How long a client may take to read what was written last, which the server keeps until then. */
export const UNREAD_MS_MAX = 30_000;
