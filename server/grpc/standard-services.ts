// The services that every gRPC server has beside its own: health (grpc.health.v1) and reflection. Their streams know
// nothing of a server that stops, so they are ended from here.

import type { DescFile } from "@bufbuild/protobuf";
import { toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type {
  handleBidiStreamingCall,
  Server,
  ServiceDefinition,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation, service as healthDefinition } from "grpc-health-check";
import { file_google_rpc_error_details } from "#proto/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "#proto/google/rpc/status_pb.js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { shuttingDown } from "./call-error.ts";
import { failureOf } from "./status.ts";

/** Empty: the server as a whole. */
const HEALTH_NAMES = ["", LockService.typeName];

export class StandardServices {
  readonly #health = new HealthImplementation(
    Object.fromEntries(HEALTH_NAMES.map((name) => [name, "NOT_SERVING" as const])),
  );
  readonly #endStreams = new Set<() => void>();

  constructor(server: Server, reflection: boolean) {
    const target = {
      addService: (definition: ServiceDefinition, handlers: UntypedServiceImplementation) =>
        server.addService(definition, this.#tracked(definition, handlers)),
    };
    this.#health.addToServer(target as unknown as Parameters<HealthImplementation["addToServer"]>[0]);
    if (reflection) new ReflectionService(describedFiles()).addToServer(target as Pick<Server, "addService">);
  }

  setServing(serving: boolean): void {
    for (const name of HEALTH_NAMES) this.#health.setStatus(name, serving ? "SERVING" : "NOT_SERVING");
  }

  endStreams(): void {
    for (const end of this.#endStreams) end();
  }

  #tracked(
    definition: ServiceDefinition,
    handlers: UntypedServiceImplementation,
  ): UntypedServiceImplementation {
    const tracked = { ...handlers };
    for (const [name, { responseStream, originalName }] of Object.entries(definition)) {
      for (const key of [name, originalName]) {
        const handler = key === undefined ? undefined : handlers[key];
        if (key !== undefined && handler && responseStream)
          tracked[key] = this.#trackedStream(handler as never);
      }
    }
    return tracked;
  }

  #trackedStream(
    handler: handleBidiStreamingCall<unknown, unknown>,
  ): handleBidiStreamingCall<unknown, unknown> {
    return (call) => {
      const end = () => call.emit("error", failureOf(shuttingDown()).status);
      this.#endStreams.add(end);
      call.once("cancelled", () => this.#endStreams.delete(end));
      handler(call);
    };
  }
}

type DescribedFiles = ConstructorParameters<typeof ReflectionService>[0];

/** The descriptors of all that the server serves, from the generated code, in the form that reflection reads. */
function describedFiles(): DescribedFiles {
  const files = new Map<string, Buffer>();
  const add = (file: DescFile) => {
    if (files.has(file.name)) return;
    files.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
    file.dependencies.forEach(add);
  };
  for (const file of [LockService.file, file_google_rpc_error_details, file_google_rpc_status]) add(file);
  const ours = { fileDescriptorProtos: [...files.values()] };
  const health = Object.values(healthDefinition).map(({ requestType }) => requestType as object);
  return Object.fromEntries([ours, ...health].entries()) as unknown as DescribedFiles;
}
