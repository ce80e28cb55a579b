import type { ServiceDefinition, UntypedServiceImplementation } from '@grpc/grpc-js';
import type { z } from 'zod';
import { streamOfOne, unary } from '../served-calls.ts';
import {
  CONTENT_SERVICE,
  IMAGES_SERVICE,
  CONTAINERD_METHODS as METHODS,
  SNAPSHOTS_SERVICE,
} from './methods.ts';

type Methods = typeof METHODS;
/** Name of a method of containerd's own API as our table has it, e.g. `listContent`. */
export type ContainerdMethodName = keyof Methods;

/** The answers of containerd's own API; errors as with `CriHandlers`. */
export type ContainerdHandlers = {
  readonly [Name in ContainerdMethodName]: (
    request: z.output<Methods[Name]['request']>,
  ) => Promise<z.input<Methods[Name]['response']>>;
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
    implementation: { List: streamOfOne(METHODS.listContent, handlers.listContent) },
  },
  {
    definition: SNAPSHOTS_SERVICE,
    implementation: {
      List: streamOfOne(METHODS.listSnapshots, handlers.listSnapshots),
      Usage: unary(METHODS.snapshotUsage, handlers.snapshotUsage),
    },
  },
];
