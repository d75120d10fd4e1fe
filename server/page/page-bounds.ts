// The bounds of the page's own work, each with its reason.

import type { Shares } from "../http/open-requests.ts";

/**
 * As many as people look at one server at once, and few enough that probes and scrapes keep their connections. A caller
 * has a few browsers open, or a script. Behind a proxy or a tunnel, all callers have one address.
 */
export const PAGE_WATCHES: Shares = { max: 20, ofCaller: 8, ofNetwork: 16 };
export const PAGE_CALLS: Shares = { max: 50, ofCaller: 20, ofNetwork: 40 };

/** The activity that charts show: as far back, and in such steps, as people compare at a glance. */
export const ACTIVITY_STEP_MS = 5_000;
export const ACTIVITY_STEPS = 120;
