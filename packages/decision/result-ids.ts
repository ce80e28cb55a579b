import type { Command } from '../../schemas/events/command.ts';
import { atNextAction, MAX_RECLAIM_ROUNDS, type Reclaim } from '../../schemas/events/reclaim.ts';
import type { PassProblem, ReclaimContinues } from '../../schemas/events/result.ts';
import { deriveId } from '../canonical/ids.ts';

/** Whose answer to which command. */
interface Answering {
  readonly nodeInstance: string;
  readonly commandId: string;
}

/** Of what became of one object of a command: of its place in the command too, so a repeated report is the same report. */
export const objectResultId = (
  { nodeInstance, commandId }: Answering,
  index: number,
  { kind, id }: { readonly kind: string; readonly id: string },
): string => deriveId('object-result', nodeInstance, commandId, String(index), kind, id);

/** Of the fact that this object of a command is about to be removed. */
export const removalIntentId = (
  { nodeInstance, commandId }: Answering,
  index: number,
  { kind, id }: { readonly kind: string; readonly id: string },
): string => deriveId('removal-intent', nodeInstance, commandId, String(index), kind, id);

export const commandResultId = ({ nodeInstance, commandId }: Answering): string =>
  deriveId('command-result', nodeInstance, commandId);

/** Of a message that is no command, or that nobody signed who may: it may come again and be refused for something else by then. */
export const rejectedResultId = (
  { nodeInstance, commandId }: Answering,
  { reason, message }: { readonly reason: string; readonly message: string },
): string => deriveId('rejected-result', nodeInstance, commandId, reason, message);

export const passFailedId = ({ nodeInstance, commandId }: Answering, problem: PassProblem): string =>
  deriveId('pass-failed', nodeInstance, commandId, problem);

/** Of the fact that a reclaim goes on after a command. */
export const continuesId = (commandId: string): string => deriveId('reclaim-continues', commandId);

/** Of the fact that a reclaim ended above its target with a command. */
export const unrelievedId = (commandId: string): string => deriveId('pressure-unrelieved', commandId);

/** Whose answer to which command of a cluster. */
interface AnsweringCluster {
  readonly clusterInstance: string;
  readonly commandId: string;
}

/** With the name of its process, where it gives one. */
interface AnsweringExecutor extends AnsweringCluster {
  readonly executor?: string | undefined;
}

interface ToldObject {
  readonly object: { readonly uid: string };
  readonly result: { readonly outcome: string };
}

/**
 * Of what became of these objects of a command: the same told again is the same report. Of two executors one may delete what the other
 * finds gone: these are two, since of one that is told twice only the first counts.
 */
export const clusterObjectResultsId = (
  { clusterInstance, commandId, executor }: AnsweringExecutor,
  objects: readonly ToldObject[],
): string =>
  deriveId(
    'cluster-object-results',
    clusterInstance,
    commandId,
    ...(executor === undefined ? [] : [executor]),
    ...objects.flatMap(({ object, result }) => [object.uid, result.outcome]),
  );

/** Of what an executor announces for a command before it changes anything; a large command is announced in parts. */
export const clusterIntentId = (
  { clusterInstance, commandId }: AnsweringCluster,
  executor: string,
  objects: readonly Pick<ToldObject, 'object'>[],
): string =>
  deriveId(
    'cluster-intent',
    clusterInstance,
    commandId,
    executor,
    ...objects.map(({ object }) => object.uid),
  );

/** Of what an object was in the state in which the command deletes it: kept again it is the same. */
export const clusterRemovedId = (
  { clusterInstance, commandId }: AnsweringCluster,
  { uid, resourceVersion }: { readonly uid: string; readonly resourceVersion: string },
): string => deriveId('cluster-removed', clusterInstance, commandId, uid, resourceVersion);

/** Two executors at once may answer one command, each as it went for it: these are two answers. */
export const clusterCommandResultId = ({ clusterInstance, commandId, executor }: AnsweringExecutor): string =>
  deriveId(
    'cluster-command-result',
    clusterInstance,
    commandId,
    ...(executor === undefined ? [] : [executor]),
  );

/** As `rejectedResultId`. */
export const clusterRejectedResultId = (
  { clusterInstance, commandId }: AnsweringCluster,
  { reason, message }: { readonly reason: string; readonly message: string },
): string => deriveId('cluster-rejected-result', clusterInstance, commandId, reason, message);

/** Another round of images where one may still help, else the next of the reclaim's actions (J14). */
export const nextReclaim = (reclaim: Reclaim, mayHelp: boolean): Reclaim | null =>
  reclaim.step === 'images' && mayHelp && reclaim.round < MAX_RECLAIM_ROUNDS
    ? { ...reclaim, round: reclaim.round + 1 }
    : atNextAction(reclaim);

/** The fact that the reclaim of a command goes on. */
export const reclaimContinues = (
  { id, cluster, node, nodeInstance }: Pick<Command, 'id' | 'cluster' | 'node' | 'nodeInstance'>,
  { reclaim, takenAt, availableNow }: Pick<ReclaimContinues, 'reclaim' | 'takenAt' | 'availableNow'>,
): ReclaimContinues => ({
  type: 'fleetgc.node.reclaim-continues',
  version: 1,
  id: continuesId(id),
  cluster,
  node,
  nodeInstance,
  takenAt,
  commandId: id,
  reclaim,
  availableNow,
});
