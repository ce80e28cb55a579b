import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import { type KubeletConnection, type KubeletOptions, kubeletConnection } from './kubelet-connection.ts';
import { KubeletPodList, podsIn } from './kubelet-pod-list.ts';
import type { PodListing, PodSource } from './pod-source.ts';

/**
 * Asks the kubelet for /pods. A kubelet does not say which process it is, but one TCP connection has one process at its
 * end: the instance is the connection, which is kept open between calls. One that breaks counts as a restart, which only
 * ever keeps more. Rejects with `PODS_UNREADABLE`; the next call then begins with a new connection.
 */
export function kubeletPodSource(options: KubeletOptions): PodSource & Disposable {
  let sockets = 0;
  let connection: KubeletConnection | null = null;
  const drop = (): void => {
    connection?.[Symbol.dispose]();
    connection = null;
  };
  return {
    list: async () => {
      try {
        connection ??= kubeletConnection(options, () => sockets++);
        const { body, socket } = await connection.get('/pods');
        return listingOf(body, `connection-${socket}`);
      } catch (cause) {
        drop();
        throw unreadable(options, cause);
      }
    },
    [Symbol.dispose]: drop,
  };
}

function listingOf(body: string, kubeletInstance: string): PodListing {
  const parsed = KubeletPodList.safeParse(JSON.parse(body));
  if (parsed.success) return { kubeletInstance, pods: podsIn(parsed.data) };
  throw new Error(`its answer is no list of pods: ${z.prettifyError(parsed.error)}`);
}

const unreadable = ({ url }: KubeletOptions, cause: unknown): FleetGcError =>
  new FleetGcError(
    'PODS_UNREADABLE',
    `cannot read the pods from the kubelet at ${url}, so nothing of a deleted pod is removed: ${messageOf(cause)}`,
    { cause },
  );

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
