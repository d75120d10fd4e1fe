// The bounds of the port for operators, each with its reason. Whoever reaches the port may connect, without a token.

/** Scrapers and probes are few, and the page takes few browsers; more connections are a mistake or an attack. */
export const CONNECTIONS_MAX = 200;

/** From one network: half, because a proxy or a tunnel in front of all browsers is one address, too. */
export const CONNECTIONS_OF_NETWORK_MAX = 100;

/** A browser opens six connections: a network with so few is never closed before others for their number. */
export const CONNECTIONS_FEW = 8;

/** Beyond as many connections, browsers lose theirs after each answer. */
export const CROWDED_CONNECTIONS = 100;

/** Of the port for operators. */
export const CONNECTIONS = {
  max: CONNECTIONS_MAX,
  ofNetworkMax: CONNECTIONS_OF_NETWORK_MAX,
  few: CONNECTIONS_FEW,
};
