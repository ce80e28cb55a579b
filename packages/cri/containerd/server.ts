import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { z } from 'zod';
import { streamOf, streamOfOne, unary } from '../served-calls.ts';
import {
  CONTAINERS_SERVICE,
  CONTENT_SERVICE,
  IMAGES_SERVICE,
  LEASES_SERVICE,
  CONTAINERD_METHODS as METHODS,
  SNAPSHOTS_SERVICE,
} from './methods.ts';

type Methods = typeof METHODS;
/** Name of a method of containerd's own API as our table has it, e.g. `listContent`. */
export type ContainerdMethodName = keyof Methods;

/** The answers of containerd's own API; errors as with `CriHandlers`. */
export type ContainerdHandlers = {
  readonly [Name in Exclude<ContainerdMethodName, 'listStoredContainers'>]: (
    request: z.output<Methods[Name]['request']>,
  ) => Promise<z.input<Methods[Name]['response']>>;
} & {
  /** One message for each. */
  readonly listStoredContainers: (
    request: z.output<Methods['listStoredContainers']['request']>,
  ) => Promise<readonly z.input<Methods['listStoredContainers']['response']>[]>;
};

export interface ServedService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

export const containerdServices = (handlers: ContainerdHandlers): readonly ServedService[] => [
  {
    definition: IMAGES_SERVICE,
    implementation: { List: unary(METHODS.listStoredImages, handlers.listStoredImages) },
  },
  {
    definition: CONTENT_SERVICE,
    implementation: {
      List: streamOfOne(METHODS.listContent, handlers.listContent),
      ListStatuses: unary(METHODS.listIngests, handlers.listIngests),
    },
  },
  {
    definition: CONTAINERS_SERVICE,
    implementation: {
      ListStream: streamOf(METHODS.listStoredContainers, handlers.listStoredContainers),
    },
  },
  {
    definition: LEASES_SERVICE,
    implementation: {
      List: unary(METHODS.listLeases, handlers.listLeases),
      ListResources: unary(METHODS.listLeaseResources, handlers.listLeaseResources),
    },
  },
  {
    definition: SNAPSHOTS_SERVICE,
    implementation: {
      List: streamOfOne(METHODS.listSnapshots, handlers.listSnapshots),
      Usage: unary(METHODS.snapshotUsage, handlers.snapshotUsage),
    },
  },
];
