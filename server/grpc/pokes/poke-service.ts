// Where other servers poke this one. Whoever does not know the secret that this server has put into the register is
// refused; whoever does can make it read some claims, and no more.

import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { status } from "@grpc/grpc-js";
import { ReplicaService } from "#proto/rowlock/internal/v1/replica_service_pb.js";
import type { ClaimKey } from "../../core/claim.ts";
import { sameSecret } from "../../core/claim.ts";
import type { CallObserver } from "../call-observer.ts";
import { POKED_CLAIMS_MAX } from "../grpc-bounds.ts";
import { decode, encode } from "../messages/encoding.ts";
import { definitionOf } from "../methods/lock-service.ts";

export interface PokeServiceOptions {
  readonly secret: string;
  /** Must neither wait nor throw. */
  readonly onPoke: (claims: readonly ClaimKey[]) => void;
}

const { input, output } = ReplicaService.method.poke;

export const pokeServiceDefinition: ServiceDefinition = { Poke: definitionOf(ReplicaService.method.poke) };

export function pokeServiceHandlers(
  { secret, onPoke }: PokeServiceOptions,
  observer: Pick<CallObserver, "poke">,
): UntypedServiceImplementation {
  return {
    Poke(call: { request: Buffer }, callback: (error: object | null, answer?: Buffer) => void) {
      try {
        const message = decode(input, call.request);
        if (!sameSecret(message.secret, secret)) {
          callback({ code: status.PERMISSION_DENIED, details: "This is not the secret of this server." });
          return;
        }
        const claims = message.claims.slice(0, POKED_CLAIMS_MAX);
        observer.poke("received", claims.length);
        onPoke(claims);
        callback(null, encode(output, {}));
      } catch (error) {
        callback({ code: status.INVALID_ARGUMENT, details: String(error) });
      }
    },
  };
}
