import type { StateDirectory } from '../../../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../../../packages/process/errors.ts';
import { NODE } from '../../../../fixtures/inventory.ts';

/** A state directory in memory, whose writes a test can watch and fail. */
export interface MemoryState extends StateDirectory {
  /** Content by name, as JSON. */
  readonly files: Map<string, string>;
  /** Called before a write has its effect; throws to fail it, or says that the process died with it. */
  beforeWrite: (name: string) => 'lost' | undefined;
  /** Called after. */
  afterWrite: (name: string) => void;
}

export function memoryState(): MemoryState {
  const state: MemoryState = {
    path: '/nowhere',
    nodeInstance: NODE.nodeInstance,
    files: new Map(),
    beforeWrite: () => undefined,
    afterWrite: () => undefined,
    openReadOnly: (name, schema) => ({
      read: () => {
        const content = state.files.get(name);
        if (content === undefined) return null;
        const parsed = schema.safeParse(JSON.parse(content));
        if (parsed.success) return parsed.data;
        throw new FleetGcError('STATE_UNREADABLE', `${name}: ${parsed.error.message}`);
      },
    }),
    open: (name, _, schema) => ({
      read: () => state.openReadOnly(name, schema).read(),
      write: (value) => {
        if (state.beforeWrite(name) === 'lost') return;
        state.files.set(name, JSON.stringify(value));
        state.afterWrite(name);
      },
    }),
  };
  return state;
}

export const diskFull = (): never => {
  throw new FleetGcError('STATE_UNWRITABLE', 'no space left on device');
};
