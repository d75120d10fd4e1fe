// The services that every gRPC server has beside its own: health (grpc.health.v1) and reflection. Their streams do
// not notice that a server stops, so this file ends them.

import { type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type {
  handleBidiStreamingCall,
  Server,
  ServiceDefinition,
  UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation } from "grpc-health-check";
import { file_google_rpc_error_details } from "#proto/google/rpc/error_details_pb.js";
import { file_google_rpc_status } from "#proto/google/rpc/status_pb.js";
import { file_grpc_health_v1_health } from "#proto/grpc/health/v1/health_pb.js";
import { file_grpc_reflection_v1_reflection } from "#proto/grpc/reflection/v1/reflection_pb.js";
import { file_grpc_reflection_v1alpha_reflection } from "#proto/grpc/reflection/v1alpha/reflection_pb.js";
import { LockService } from "#proto/rowlock/v1/lock_service_pb.js";
import { shuttingDown } from "./messages/call-error.ts";
import { failureOf } from "./messages/status.ts";

/** The empty name stands for the server as a whole. */
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

  #tracked(definition: ServiceDefinition, handlers: UntypedServiceImplementation) {
    const tracked = { ...handlers };
    for (const [name, { responseStream, originalName = name }] of Object.entries(definition))
      for (const key of [name, originalName])
        if (responseStream && handlers[key]) tracked[key] = this.#trackedStream(handlers[key] as never);
    return tracked;
  }

  #trackedStream(handler: Streaming): Streaming {
    return (call) => {
      const end = () => call.emit("error", failureOf(shuttingDown()).status);
      this.#endStreams.add(end);
      call.once("cancelled", () => this.#endStreams.delete(end));
      handler(call);
    };
  }
}

type Streaming = handleBidiStreamingCall<unknown, unknown>;
type DescribedFiles = ConstructorParameters<typeof ReflectionService>[0];

const SERVED_FILES = [
  LockService.file,
  // Error details: none of our messages refers to them.
  file_google_rpc_error_details,
  file_google_rpc_status,
  file_grpc_health_v1_health,
  file_grpc_reflection_v1_reflection,
  file_grpc_reflection_v1alpha_reflection,
];

/**
 * The descriptors of everything that the server serves, in the form that reflection reads. They come from generated
 * code alone: the health package makes its own descriptors with a loader that breaks map fields, and strict clients
 * then refuse the whole file.
 */
function describedFiles(): DescribedFiles {
  const files = new Map<string, Buffer>();
  const add = (file: DescFile) => {
    if (files.has(file.name)) return;
    files.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
    file.dependencies.forEach(add);
  };
  SERVED_FILES.forEach(add);
  return { served: { fileDescriptorProtos: [...files.values()] } } as unknown as DescribedFiles;
}
