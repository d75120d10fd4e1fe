// What traces and metrics say of the server that sends them, unless the environment says otherwise.

import * as resources from "@opentelemetry/resources";

export interface Origin {
  readonly version: string;
  readonly instance: string;
}

export function resourceOf({ version, instance }: Origin): resources.Resource {
  const own = resources.resourceFromAttributes({
    "service.name": "rowlock",
    "service.version": version,
    "service.instance.id": instance,
  });
  return resources
    .defaultResource()
    .merge(own)
    .merge(resources.detectResources({ detectors: [resources.envDetector] }));
}
