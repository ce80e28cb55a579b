import { type ApiOwnerReference, UNREADABLE } from './metadata.ts';

/** The owner that manages an object; `null` where none does. One that cannot be read may be it. */
export const controllerOf = (references: readonly ApiOwnerReference[]): ApiOwnerReference | null =>
  references.find(({ controller }) => controller === true) ??
  references.find(({ apiVersion }) => apiVersion === UNREADABLE) ??
  null;

/** Whether it is a Job, which counts its pods until it is finished. What cannot be read may be one. */
export const mayBeJob = ({ apiVersion, kind }: Pick<ApiOwnerReference, 'apiVersion' | 'kind'>): boolean =>
  apiVersion === UNREADABLE || (kind === 'Job' && apiVersion.startsWith('batch/'));
