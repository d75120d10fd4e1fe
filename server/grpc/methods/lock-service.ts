// LockService as grpc-js serves it: each verb of the contract in the frame of handler.ts.

import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { type HandlerContext, streamHandler, unaryHandler } from "../handler.ts";
import { serviceDefinition } from "../service-definition.ts";
import { acquireVerb } from "./acquire.ts";
import type { Verbs } from "./answers.ts";
import { listLimitsVerb, setLimitVerb } from "./limits.ts";
import { getLockVerb, listLocksVerb } from "./listings.ts";
import { forceReleaseVerb, releaseVerb, renewVerb } from "./renew-and-release.ts";
import { waitInQueueVerb } from "./wait-in-queue.ts";

export const lockServiceDefinition: ServiceDefinition = serviceDefinition(LockService);

/** One handler for each method of the contract, under its name. */
export function lockServiceHandlers(verbs: Verbs, context: HandlerContext): UntypedServiceImplementation {
  return {
    Acquire: unaryHandler(acquireVerb(verbs), context),
    WaitInQueue: streamHandler(waitInQueueVerb(verbs), context),
    Renew: unaryHandler(renewVerb(verbs), context),
    Release: unaryHandler(releaseVerb(verbs), context),
    SetLimit: unaryHandler(setLimitVerb(verbs), context),
    GetLock: unaryHandler(getLockVerb(verbs), context),
    ListLocks: unaryHandler(listLocksVerb(verbs), context),
    ListLimits: unaryHandler(listLimitsVerb(verbs), context),
    ForceRelease: unaryHandler(forceReleaseVerb(verbs), context),
  } satisfies Record<(typeof LockService)["methods"][number]["name"], unknown>;
}
