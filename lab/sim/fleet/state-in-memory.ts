import type { z } from 'zod';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';

/** A state directory whose files are values in memory; it outlives the processes of its node. */
export function stateInMemory(nodeInstance: string): StateDirectory {
  const files = new Map<string, unknown>();
  const read = <T>(name: string, schema: z.ZodType<T>): T | null => {
    const value = files.get(name);
    return value === undefined ? null : schema.parse(value);
  };
  return {
    path: 'in memory',
    nodeInstance,
    open: (name, _, schema) => ({
      read: () => read(name, schema),
      write: (value) => {
        files.set(name, value);
      },
    }),
    openReadOnly: (name, schema) => ({ read: () => read(name, schema) }),
  };
}
