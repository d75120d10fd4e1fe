// Who makes a call: takes the credentials from the call, asks the gate, and reports to the connection's standing how that
// turned out.

import type { ServerUnaryCall } from "@grpc/grpc-js";
import { type Gate, type Identity, NOBODY, OPEN_GATE } from "../access/access.ts";
import type { Callers } from "./standing.ts";

export interface Asking {
  readonly gate: Gate;
  /** Unset: nobody hears how it turned out. */
  readonly callers?: Callers;
}

/** Who makes the call. Throws, or rejects with, an AccessError. */
export function identified(
  { gate, callers }: Asking,
  call: Pick<ServerUnaryCall<Buffer, Buffer>, "metadata" | "getAuthContext" | "getPeer">,
): Identity | Promise<Identity> {
  if (gate === OPEN_GATE) return NOBODY;
  const peer = call.getPeer();
  const failed = (error: unknown) => {
    callers?.failed(peer);
    throw error;
  };
  const known = (identity: Identity) => {
    callers?.known(peer);
    return identity;
  };
  try {
    const found = gate.identify({
      authorization: call.metadata.get("authorization").map(String),
      certificate: () => call.getAuthContext()?.sslPeerCertificate?.raw ?? null,
    });
    return found instanceof Promise ? found.then(known, failed) : known(found);
  } catch (error) {
    return failed(error);
  }
}
