import { isEndpoint, socketPathOf } from '../../packages/cri/socket-path.ts';
import { type OtherExecutor, otherExecutors } from '../../packages/machine/lock-holders.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { type NodeOptions, USUAL_RUNTIME_ENDPOINT } from './node-options.ts';

/** A process that removes through the runtime of this node, with a state directory of its own. Its texts fit on one line. */
export type OtherRemover = Omit<OtherExecutor, 'runtimeEndpoint'>;

/** As far as this process can see. */
export const otherRemovers = (
  { stateDirectory, runtimeEndpoint }: Pick<NodeOptions, 'stateDirectory' | 'runtimeEndpoint'>,
  executors: readonly OtherExecutor[] = otherExecutors(stateDirectory),
): readonly OtherRemover[] =>
  executors
    .filter(({ runtimeEndpoint: given }) => socketOf(given) === socketPathOf(runtimeEndpoint))
    .map(({ pid, command, stateDirectory: directory }) => ({
      pid,
      command: printableLine(command),
      stateDirectory: printableLine(directory),
    }));

/** One that has it from a file of settings counts as having the usual one. */
const socketOf = (given: string | null): string =>
  socketPathOf(given !== null && isEndpoint(given) ? given : USUAL_RUNTIME_ENDPOINT);

export const removerText = ({ pid, command, stateDirectory }: OtherRemover): string =>
  `${pid} (${command}), with the state directory ${stateDirectory}`;
