// Who calls, and what each caller may do: by the tokens, keys and policy in force, each of which may be replaced while
// the server runs.

import { RecentMap } from "../core/recent-map.ts";
import {
  type AccessError,
  credentialsExpired,
  credentialsMissing,
  credentialsWrong,
  rightLost,
  severalCredentials,
} from "./access-error.ts";
import { bearerToken } from "./bearer.ts";
import { type CertificateNames, principalOfCertificate } from "./certificate.ts";
import { type JwtRules, looksLikeJwt, principalOfJwt } from "./jwt.ts";
import type { KeySet } from "./key-sets.ts";
import { type Allowed, EVERYTHING, type FixedLabels, type Policy, type Quota } from "./policy.ts";
import type { Principal } from "./principal.ts";
import { hashOf, type Tokens } from "./tokens-file.ts";

export interface Credentials {
  readonly authorization: readonly string[];
  /** The certificate of its connection, in DER; null: it has none that TLS has verified. */
  readonly certificate: () => Buffer | null;
}

/** A caller: all calls with the same credentials share one. */
export interface Identity {
  /** Empty if nobody is asked who they are. */
  readonly principal: string;
  readonly allowed: Allowed;
  readonly quota: Quota;
  /** The labels that the policy fixes; null: none. */
  readonly labels: FixedLabels | null;
  /** Why it does not count any more; null: it does. */
  ended(nowMs: number): AccessError | null;
}

const NO_QUOTA: Quota = {};

/** Everybody, if nobody is asked who they are. */
export const NOBODY: Identity = {
  principal: "",
  allowed: EVERYTHING,
  quota: NO_QUOTA,
  labels: null,
  ended: () => null,
};

/** What `grpc/` needs: it asks for each call. */
export interface Gate {
  /** Throws, or rejects with, an AccessError. */
  identify(credentials: Credentials): Identity | Promise<Identity>;
  /** What each call without an `authorization` header fails with; null or unset: its certificate may be enough. */
  readonly withoutHeader?: AccessError | null;
}

export const OPEN_GATE: Gate = { identify: () => NOBODY };

export interface AccessOptions {
  /** Unset: there is no tokens file. */
  readonly tokens?: Tokens | undefined;
  readonly jwt?: { readonly rules: JwtRules; readonly keys: KeySet } | undefined;
  /** Unset: certificates name nobody. */
  readonly certificates?: CertificateNames | undefined;
  /** Unset: whoever is known may do everything. */
  readonly policy?: Policy | undefined;
}

/** Tokens and certificates that are remembered once they were verified, so that only the first call of each is slow. */
const VERIFIED_MAX = 10_000;
const TOKEN_CHARS_MAX = 16_384;

/** Says which of the identities in use have ended by a change; null: this one has not. */
export type Loss = (identity: Identity) => AccessError | null;

export class Access implements Gate {
  readonly #jwt: AccessOptions["jwt"];
  readonly #certificates: CertificateNames | undefined;
  readonly #accepted: string;
  readonly withoutHeader: AccessError | null;
  #tokens: Tokens | undefined;
  #policy: Policy | undefined;
  /** By the hash of the token or certificate, so that the memory of the server contains no tokens. */
  readonly #verified = new RecentMap<string, Identity>(VERIFIED_MAX);
  /** Called when rights were lost. Must not throw. */
  onLoss: (loss: Loss) => void = () => {};

  constructor({ tokens, jwt, certificates, policy }: AccessOptions) {
    this.#tokens = tokens;
    this.#jwt = jwt;
    this.#certificates = certificates;
    this.#policy = policy;
    const ways = [
      ...(tokens || jwt ? ["send `authorization: Bearer TOKEN`"] : []),
      ...(certificates ? ["connect with a client certificate"] : []),
    ];
    this.#accepted = ways.join(", or ");
    this.withoutHeader = certificates ? null : credentialsMissing(this.#accepted);
  }

  /** In force; undefined: whoever is known may do everything. */
  get policy(): Policy | undefined {
    return this.#policy;
  }

  replaceTokens(tokens: Tokens): void {
    this.#tokens = tokens;
  }

  /** What the old policy allowed and the new one does not is lost. */
  replacePolicy(policy: Policy): void {
    const before = this.#policy;
    this.#policy = policy;
    this.onLoss(({ principal }) => {
      const isLess = !before || !policy.of(principal).containsAll(before.of(principal));
      return isLess ? rightLost(principal) : null;
    });
  }

  identify({ authorization, certificate }: Credentials): Identity | Promise<Identity> {
    const [header] = authorization;
    if (header === undefined) return this.#byCertificate(certificate);
    if (authorization.length > 1) throw severalCredentials();
    const token = bearerToken(header);
    if (token === undefined) throw credentialsWrong("the authorization header is not `Bearer TOKEN`");
    if (token.length > TOKEN_CHARS_MAX) throw credentialsWrong("the token is too long");
    return this.#byToken(token);
  }

  #byCertificate(certificate: Credentials["certificate"]): Identity {
    const names = this.#certificates;
    const raw = names ? certificate() : null;
    if (!names || raw === null) throw credentialsMissing(this.#accepted);
    const hash = hashOf(raw);
    const known = this.#known(hash);
    if (known) return known;
    const identity = this.#identityOf(principalOfCertificate(raw, names));
    const ended = identity.ended(Date.now());
    if (ended) throw ended;
    this.#verified.set(hash, identity);
    return identity;
  }

  #byToken(token: string): Identity | Promise<Identity> {
    const hash = hashOf(token);
    const known = this.#known(hash);
    if (known) return known;
    if (this.#jwt && looksLikeJwt(token)) return this.#byJwt(token, hash, this.#jwt);
    const name = this.#tokens?.get(hash);
    if (name === undefined) throw credentialsWrong("the server does not know the token");
    const isKnown = () => this.#tokens?.get(hash) === name;
    const identity = this.#identityOf({ name, endsMs: null, isKnown });
    this.#verified.set(hash, identity);
    return identity;
  }

  async #byJwt(token: string, hash: string, { rules, keys }: NonNullable<AccessOptions["jwt"]>) {
    const identity = this.#identityOf(await principalOfJwt(token, rules, keys));
    this.#verified.set(hash, identity);
    return identity;
  }

  #known(hash: string): Identity | undefined {
    const known = this.#verified.get(hash);
    if (known && !known.ended(Date.now())) return known;
    this.#verified.delete(hash);
    return undefined;
  }

  #identityOf({ name, endsMs, isKnown }: Principal): Identity {
    const policyOf = () => this.#policy?.of(name);
    return {
      principal: name,
      get allowed() {
        return policyOf() ?? EVERYTHING;
      },
      get quota() {
        return policyOf()?.quota ?? NO_QUOTA;
      },
      get labels() {
        return policyOf()?.labels ?? null;
      },
      ended(nowMs) {
        if (endsMs !== null && nowMs >= endsMs) return credentialsExpired();
        return isKnown() ? null : credentialsWrong("they are not in force any more");
      },
    };
  }
}
