import { readMachineId } from '../../packages/machine/machine-id.ts';
import { openStateDirectory } from '../../packages/machine/state-directory.ts';
import { lockState, type StateRole } from '../../packages/machine/state-lock.ts';
import { openKubeletPods } from './kubelet-pods.ts';
import type { ManagedNode } from './managed-node.ts';
import type { ContainerdOptions, KubeletOptions, NodeOptions } from './node-options.ts';
import { thisMachine } from './this-machine.ts';

type ThisNodeOptions = NodeOptions &
  KubeletOptions &
  ContainerdOptions & { readonly log: 'kafka' | 'embedded' };

/**
 * The machine that this process runs on, for which it takes these roles. Throws `CONFIG_INVALID`, `STATE_IN_USE`,
 * `STATE_UNWRITABLE` or `STATE_UNREADABLE`.
 */
export function openThisNode(
  options: ThisNodeOptions,
  roles: readonly StateRole[],
): ManagedNode & Disposable {
  using resources = new DisposableStack();
  const { name, ...machine } = thisMachine(options);
  const state = openStateDirectory(options.stateDirectory, readMachineId(options.machineIdFile));
  resources.use(lockState(options.stateDirectory, roles));
  const pods = resources.use(openKubeletPods(options));
  const opened = resources.move();
  return {
    ...machine,
    identity: { ...name, nodeInstance: state.nodeInstance },
    state,
    pods,
    podSources: options.podSources,
    imageLayers: options.imageLayers,
    [Symbol.dispose]: () => opened.dispose(),
  };
}
