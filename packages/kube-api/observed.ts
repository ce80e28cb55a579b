import { type NodeDetails, readNodeDetails } from './details/node-details.ts';
import { type PodDetails, readPodDetails } from './details/pod-details.ts';
import { type ObjectMetadata, readMetadata } from './metadata.ts';
import type { ApiResource } from './resources.ts';

/** What is read of an object beside its metadata, by its kind. */
export type ObjectDetails = PodDetails | NodeDetails;

/** An object as it is listed and watched. */
export interface ObservedObject extends ObjectMetadata {
  /** `null` for kinds that are read as metadata alone, and for what cannot be read: nothing may be concluded from it. */
  readonly details: ObjectDetails | null;
}

/** Kinds that are read whole, by group and resource; what is not needed of them is left behind at once. */
const DETAILS: Readonly<Record<string, (object: unknown) => ObjectDetails | null>> = {
  '/pods': readPodDetails,
  '/nodes': readNodeDetails,
};

type NamedResource = Pick<ApiResource, 'group' | 'resource'>;

const detailsOf = ({ group, resource }: NamedResource) => DETAILS[`${group}/${resource}`];

export const isReadWhole = (resource: NamedResource): boolean => detailsOf(resource) !== undefined;

/** `null` for what is no object. */
export function readObserved(value: unknown, resource: NamedResource): ObservedObject | null {
  const metadata = readMetadata(value);
  return metadata && { ...metadata, details: detailsOf(resource)?.(value) ?? null };
}
