// What can be chosen when connecting, and for one lock, with what holds where nothing is said.

import { isIP } from "node:net";
import { hostname } from "node:os";
import type { Mode } from "./modes.ts";
import type { RecordOptions } from "./records.ts";

/** Without end. */
export type Forever = "forever";

export interface TlsOptions {
  /** Certificates of the authorities to trust, in PEM; unset: those that Node trusts. */
  readonly ca?: string | Buffer;
  /** The client's own certificate and its key, in PEM, where the server asks for one. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** The name that the server's certificate has, where it is not that of the address. */
  readonly serverName?: string;
}

export type Headers = Readonly<Record<string, string>>;

/** What happens to the connection, for a log. */
export type ConnectionEvent =
  | {
      readonly kind: "connected";
      readonly address: string;
      /** As one session, or, where those are refused, as calls of their own. */
      readonly via: "session" | "calls";
      /** The server, as its log names it; empty where it does not say. */
      readonly replica: string;
    }
  | { readonly kind: "disconnected"; readonly address: string; readonly error: Error };

export interface ConnectOptions {
  /** `host:port` of each server, in the order in which they are tried. */
  readonly addresses: string | readonly string[];
  /** Who asks, for people who look at a lock; unset: this machine and process. */
  readonly owner?: string;
  /** What else they should see. */
  readonly labels?: Readonly<Record<string, string>>;
  /** true: with the authorities that Node trusts. Unset: plain text. */
  readonly tls?: boolean | TlsOptions;
  /** Headers for a proxy or an authority between; a function is asked for each connection. */
  readonly metadata?: Headers | (() => Headers | Promise<Headers>);
  /**
   * How long a server may take to answer a new connection, and `metadata` before it, in milliseconds, before the next one is
   * tried; 3,000.
   */
  readonly connectTimeout?: number;
  /** How long a call is tried before it fails, in milliseconds, where no server answers it; 30,000. */
  readonly giveUpAfter?: number;
  /** How long a connection may stay open that nobody needs, in milliseconds; 300,000. */
  readonly idleAfter?: number;
  readonly onConnection?: (event: ConnectionEvent) => void;
}

/** The place in the queue. */
export interface Place {
  /** Waiters that stand before this one. */
  readonly ahead: number;
  /** Permits that they ask for. */
  readonly permitsAhead: number;
  /** Waiters in the whole queue. */
  readonly queueLength: number;
  /** How long this one has waited. */
  readonly waitedMs: number;
}

export interface LockOptions extends RecordOptions {
  /** How long to wait at the most, in milliseconds; 0: not at all. As long as it takes, unless told otherwise. */
  readonly wait?: number | Forever;
  /** Time to live of the lease, in milliseconds, which is renewed at every third of it; 30,000. */
  readonly ttl?: number | Forever;
  /** How many permits to take, all or none; 1. */
  readonly permits?: number;
  readonly mode?: Mode;
  /** Gives up the wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each new place in the queue. */
  readonly onPosition?: (place: Place) => void;
  /** How often at the most `onPosition` is called, in milliseconds; 1,000. */
  readonly positionInterval?: number;
  /** For this claim alone. */
  readonly owner?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /**
   * The same id always means the same claim: whoever asks again under it comes back to its lease or place. Unset: an id of
   * this call's own.
   */
  readonly requestId?: string;
  /**
   * How long before the lease may end it is given up for lost, in milliseconds: the time that the work has to stop. A tenth
   * of the ttl, and 2 s at the most, unless told otherwise; less than half of the ttl.
   */
  readonly margin?: number;
}

export const TTL_MS = 30_000;
/** What a timer of Node can be set to. */
const TIMER_MS_MAX = 2 ** 31 - 1;
const MARGIN_SHARE = 1 / 10;
const MARGIN_MS_MAX = 2_000;

export interface Settings extends Omit<ConnectOptions, "addresses"> {
  readonly addresses: readonly string[];
  readonly owner: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly connectTimeout: number;
  readonly giveUpAfter: number;
  readonly idleAfter: number;
}

/** Throws a RangeError for what cannot work. */
export function settingsOf(options: ConnectOptions): Settings {
  const addresses = [options.addresses].flat().map((address) => address.trim());
  if (addresses.length === 0 || addresses.includes(""))
    throw new RangeError("addresses: name at least one server, as host:port");
  const { tls } = options;
  // Node does not take an address for the name of a TLS server.
  const unnamed = addresses.find((address) => isIP(hostOf(address)) !== 0);
  if (tls && unnamed !== undefined && (tls === true || tls.serverName === undefined))
    throw new RangeError(
      `addresses: with TLS, name ${unnamed} as its certificate does, or set tls.serverName`,
    );
  const { connectTimeout = 3_000, giveUpAfter = 30_000, idleAfter = 300_000 } = options;
  checkMs("connectTimeout", connectTimeout);
  checkMs("giveUpAfter", giveUpAfter);
  checkMs("idleAfter", idleAfter);
  const { owner = `${hostname()}:${process.pid}`, labels = {} } = options;
  return { ...options, addresses, owner, labels, connectTimeout, giveUpAfter, idleAfter };
}

/** In milliseconds. Throws a RangeError for what cannot work. */
export function marginOf({ ttl = TTL_MS, margin }: Pick<LockOptions, "ttl" | "margin">): number {
  if (ttl === "forever") return 0;
  if (margin === undefined) return Math.min(ttl * MARGIN_SHARE, MARGIN_MS_MAX);
  if (!(margin >= 0 && margin < ttl / 2))
    throw new RangeError(`margin: ${margin} ms must be less than half of the ttl of ${ttl} ms`);
  return margin;
}

function hostOf(address: string): string {
  return address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
}

function checkMs(name: string, ms: number): void {
  if (!(ms > 0 && (ms <= TIMER_MS_MAX || ms === Number.POSITIVE_INFINITY)))
    throw new RangeError(
      `${name}: ${ms} must be a number of milliseconds above 0, 24 days at the most, or Infinity`,
    );
}
