// Serves the other servers: their pokes, and their question whether this server can decide. Refuses a caller that
// does not know the secret which this server has put into the register. A caller that knows it can make this server
// read some claims, and make one decision of its own at a time.

import type { MessageShape } from "@bufbuild/protobuf";
import { type ServiceDefinition, status, type UntypedServiceImplementation } from "@grpc/grpc-js";
import { ReplicaService } from "#proto/rowlock/internal/v1/replica_service_pb.js";
import { type ClaimKey, sameSecret } from "../../core/claim.ts";
import type { CallObserver } from "../call-observer.ts";
import { POKED_CLAIMS_MAX } from "../grpc-bounds.ts";
import { definitionOf } from "../lock-service.ts";
import { decode, encode } from "../messages/messages.ts";

export interface PokeServiceOptions {
  readonly secret: string;
  /** Must neither wait nor throw. */
  readonly onPoke: (claims: readonly ClaimKey[]) => void;
  /** Whether a decision that ends after this call gets through. Must not reject. */
  readonly decides: () => Promise<boolean>;
}

const { poke, decide } = ReplicaService.method;

export const pokeServiceDefinition: ServiceDefinition = {
  Poke: definitionOf(poke),
  Decide: definitionOf(decide),
};

type Answer = (error: object | null, answer?: Buffer) => void;

export function pokeServiceHandlers(
  { secret, onPoke, decides }: PokeServiceOptions,
  observer: Pick<CallObserver, "poke">,
): UntypedServiceImplementation {
  return {
    Poke: handler(poke.input, (message, answer) => {
      const claims = message.claims.slice(0, POKED_CLAIMS_MAX);
      observer.poke("received", claims.length);
      onPoke(claims);
      answer(null, encode(poke.output, {}));
    }),
    Decide: handler(decide.input, (_message, answer) => {
      void decides().then((does) => (does ? answer(null, encode(decide.output, {})) : answer(BLIND)));
    }),
  };

  function handler<Schema extends typeof poke.input | typeof decide.input>(
    schema: Schema,
    run: (message: MessageShape<Schema>, answer: Answer) => void,
  ) {
    return (call: { request: Buffer }, answer: Answer) => {
      try {
        const message = decode(schema, call.request);
        if (sameSecret(message.secret, secret)) run(message, answer);
        else answer(STRANGER);
      } catch (error) {
        answer({ code: status.INVALID_ARGUMENT, details: String(error) });
      }
    };
  }
}

const STRANGER = { code: status.PERMISSION_DENIED, details: "This is not the secret of this server." };
const BLIND = { code: status.UNAVAILABLE, details: "This server cannot decide now." };
