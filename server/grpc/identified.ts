// Who makes a call: takes the credentials from the call, and asks the gate.

import type { ServerUnaryCall } from "@grpc/grpc-js";
import { type Gate, type Identity, NOBODY, OPEN_GATE } from "../access/access.ts";

/** Who makes the call. Throws, or rejects with, an AccessError. */
export function identified(
  gate: Gate,
  call: Pick<ServerUnaryCall<Buffer, Buffer>, "metadata" | "getAuthContext">,
): Identity | Promise<Identity> {
  if (gate === OPEN_GATE) return NOBODY;
  return gate.identify({
    authorization: call.metadata.get("authorization").map(String),
    certificate: () => call.getAuthContext()?.sslPeerCertificate?.raw ?? null,
  });
}
