import type { ApiAnswer, ApiConnection } from './connection.ts';
import { type ApiResource, namespacedPath, objectPath } from './resources.ts';

/** Events as the kubelet writes them, which every Kubernetes shows with "kubectl describe node". */
const EVENTS = {
  group: '',
  version: 'v1',
  resource: 'events',
  namespaced: true,
} as const satisfies ApiResource;
/** Events about what lies in no namespace lie here. */
export const EVENT_NAMESPACE = 'default';
const MAX_MESSAGE_LENGTH = 1_000;

/** An Event about a Node. */
export interface NodeEvent {
  readonly name: string;
  readonly node: string;
  /** `ImageGCFailed`. */
  readonly reason: string;
  readonly type: 'Normal' | 'Warning';
  readonly message: string;
  /** How often it has been so. */
  readonly count: number;
  /** Epoch milliseconds. */
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Who tells of it. */
export interface EventReporter {
  readonly component: string;
  readonly instance: string;
}

/** Rejects with what the connection rejects with, as does the other. */
export const createNodeEvent = (
  connection: ApiConnection,
  event: NodeEvent,
  { component, instance }: EventReporter,
  signal: AbortSignal,
): Promise<ApiAnswer> =>
  connection.call(
    {
      method: 'POST',
      path: namespacedPath(EVENTS, EVENT_NAMESPACE),
      body: JSON.stringify({
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name: event.name, namespace: EVENT_NAMESPACE },
        // As the kubelet does, the name stands for the uid: kubectl looks for both.
        involvedObject: { apiVersion: 'v1', kind: 'Node', name: event.node, uid: event.node },
        reason: event.reason,
        type: event.type,
        message: event.message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
        count: event.count,
        firstTimestamp: inSeconds(event.firstMs),
        lastTimestamp: inSeconds(event.lastMs),
        source: { component, host: event.node },
        reportingComponent: component,
        reportingInstance: instance,
      }),
    },
    signal,
  );

/** It is so once more. */
export const countNodeEvent = (
  connection: ApiConnection,
  { name, message, count, lastMs }: Pick<NodeEvent, 'name' | 'message' | 'count' | 'lastMs'>,
  signal: AbortSignal,
): Promise<ApiAnswer> =>
  connection.call(
    {
      method: 'PATCH',
      path: objectPath(EVENTS, { namespace: EVENT_NAMESPACE, name }),
      contentType: 'application/strategic-merge-patch+json',
      body: JSON.stringify({
        message: message.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
        count,
        lastTimestamp: inSeconds(lastMs),
      }),
    },
    signal,
  );

const inSeconds = (epochMs: number): string => new Date(epochMs).toISOString().replace(/\.\d+Z$/, 'Z');
