import { modeText } from '../process/system-problem.ts';

/** Takes one sentence for people. */
type Listener = (message: string) => void;

const listeners = new Set<Listener>();
const told = new Set<string>();

const OTHERS = 0o077;

/** Files and directories that others may open, from now until disposed of. Each is reported once for each process. */
export function onWideFile(listener: Listener): Disposable {
  listeners.add(listener);
  return {
    [Symbol.dispose]: () => {
      listeners.delete(listener);
      if (listeners.size === 0) told.clear();
    },
  };
}

/**
 * Reports what holds state, events or saved objects and may be opened by other users than its owner. It is used all the same: a group
 * may have been let in on purpose.
 */
export function reportIfWide(path: string, mode: number, kind: 'file' | 'directory'): void {
  if ((mode & OTHERS) === 0 || told.has(path)) return;
  if (listeners.size > 0) told.add(path);
  const message = `Other users of this machine may open the ${kind} ${path} (mode ${modeText(mode)}). To close it: chmod go= ${path}`;
  for (const listener of listeners) listener(message);
}
