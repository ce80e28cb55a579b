import type { StateDirectory } from '../../../packages/machine/state-directory.ts';

/** A process, as its surroundings see it. */
export interface ProcessState {
  dead: boolean;
}

export const NEVER = new Promise<never>(() => undefined);

/** The object as a process that may die sees it: its calls have no effect when dead, and answers do not reach it. */
export function killable<T extends object>(object: T, process: ProcessState): T {
  return new Proxy(object, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: readonly unknown[]): unknown => {
        const answer: unknown = process.dead ? NEVER : Reflect.apply(value, target, args);
        return answer instanceof Promise ? answerUnlessDead(answer, process) : answer;
      };
    },
  });
}

async function answerUnlessDead(answer: Promise<unknown>, process: ProcessState): Promise<unknown> {
  try {
    return await answer;
  } finally {
    if (process.dead) await NEVER;
  }
}

export const killableState = (state: StateDirectory, process: ProcessState): StateDirectory => ({
  ...state,
  open: (name, sizeBytes, schema) => {
    const file = state.open(name, sizeBytes, schema);
    return {
      read: file.read,
      write: (value) => {
        if (!process.dead) file.write(value);
      },
    };
  },
});
